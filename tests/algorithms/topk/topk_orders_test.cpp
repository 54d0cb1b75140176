#include <array>
#include <utility>

#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/drawn_options.hpp"

// What topk makes of any numbers, in whatever order messages come.
namespace lacuna::test {
namespace {

constexpr std::pair<const char*, const char*> variants[] = {
    {"sparse_allgather", "k=90"},     {"sparse_split", "k=600"},   {"sparse_split", "k=600,ranges=even"},
    {"sparse_ring", "k=90"},          {"sparse_doubling", "k=90"}, {"sparse_ring", "k=90,capped=1"},
    {"sparse_ring", "k=90,chunks=3"}, {"gtopk", "k=90"},
};

TEST(TopkOrders, GiveTheSameBitsOnAllRanksAndInEachOfAHundredOrders) {
  for (const auto& [algorithm, options] : variants) {
    for (Rank size : {3, 5, 8}) {
      const Vectors inputs = any_numbers(static_cast<std::size_t>(size), 1200, 8);
      SparseRig calm(size);
      ASSERT_EQ(calm.run(inputs, algorithm, options), "");
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SparseRig stormy(size, drawn_options(seed * 31 + static_cast<std::uint64_t>(size)));
        ASSERT_EQ(stormy.run(inputs, algorithm, options), "") << algorithm << " seed " << seed;
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
          ASSERT_TRUE(stormy.outputs[rank] == calm.outputs[0]) << algorithm << " " << options << " seed " << seed;
          ASSERT_TRUE(stormy.residual(rank) == calm.residual(rank)) << algorithm << " " << options << " seed " << seed;
        }
      }
    }
  }
}

TEST(TopkOrders, SumsAreRoundedOnceForEachTermAtMost) {
  for (const char* algorithm : sparse_allreduces) {
    for (Rank size : {3, 5, 8}) {
      const Vectors inputs = any_numbers(static_cast<std::size_t>(size), 700, 2);
      SparseRig rig(size);
      ASSERT_EQ(rig.run(inputs, algorithm, "density=1,feedback=0"), "");
      for (std::size_t i = 0; i < 700; ++i) {
        double exact = 0, magnitudes = 0;
        for (const auto& input : inputs) exact += input[i], magnitudes += std::abs(input[i]);
        const double ulps = static_cast<double>(size) * std::numeric_limits<float>::epsilon() / 2;
        ASSERT_LE(std::abs(rig.outputs[0][i] - exact), ulps * magnitudes) << algorithm << " P=" << size;
      }
    }
  }
}

/// Calls of several algorithms are in flight together on ranks that post them at moments of their own.
TEST(TopkOrders, CallsInFlightTogetherDoNotTouchEachOther) {
  constexpr std::size_t calls = std::size(variants);
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const auto size = static_cast<Rank>(2 + random() % 5);
    Ranks ranks(size, drawn_options(seed));
    const std::size_t p = static_cast<std::size_t>(size);
    std::vector<Vectors> inputs, outputs;
    for (std::size_t call = 0; call < calls; ++call) {
      inputs.push_back(sparse_inputs(Pattern::Uniform, p, 600 + call, static_cast<unsigned>(seed + call)));
      outputs.emplace_back(p, std::vector<float>(600 + call));
    }
    std::vector<std::vector<MethodState>> states(p, std::vector<MethodState>(calls));
    std::vector<std::vector<runtime::Run*>> runs(p);
    for (std::size_t left = p * calls; left > 0;) {
      const std::size_t rank = random() % p, call = runs[rank].size();
      if (random() % 3 == 0) ranks.sweep();
      if (call == calls) continue;
      const auto& [algorithm, options] = variants[call];
      Call next = allreduce_call(inputs[call][rank], outputs[call][rank], algorithm);
      next.options.method = *method_options(std::string("topk:") + options);
      next.options.state = &states[rank][call];
      runs[rank].push_back(&must_post(ranks, static_cast<Rank>(rank), next));
      --left;
    }
    const auto ended = [&] {
      return std::all_of(runs.begin(), runs.end(), [](const auto& own) {
        return std::all_of(own.begin(), own.end(), [](const runtime::Run* run) { return run->finished; });
      });
    };
    ASSERT_TRUE(ranks.sweep_until(ended)) << "seed " << seed;
    for (std::size_t call = 0; call < calls; ++call) {
      Vectors came_out = {outputs[call][0]};
      for (std::size_t rank = 0; rank < p; ++rank) {
        ASSERT_TRUE(runs[rank][call]->status) << runs[rank][call]->status.to_string();
        ASSERT_TRUE(outputs[call][rank] == outputs[call][0]) << variants[call].first << " seed " << seed;
        std::vector<float> residual(600 + call);
        const StateArray& kept = *states[rank][call].find(residual_array);
        std::memcpy(residual.data(), kept.bytes.data(), kept.bytes.size());
        came_out.push_back(residual);
      }
      ASSERT_EQ(sum_of(came_out), sum_of(inputs[call])) << variants[call].first << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
