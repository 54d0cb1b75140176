#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/drawn_options.hpp"

// ok_topk in whatever order messages come, and with several calls of it at the same time.
namespace lacuna::test {
namespace {

constexpr const char* variants[] = {"k=90,tau_prime=2,bucket=1", "k=300,tau_prime=3,trigger=1,tau=1",
                                    "k=90,tau_prime=4,trigger=2,bucket=2"};
constexpr std::size_t count = 1200;

TEST(OkOrders, GiveTheSameBitsOnAllRanksAndInEachOfAHundredOrders) {
  for (const char* options : variants) {
    for (Rank size : {3, 5, 8}) {
      SparseRig calm(size);
      std::vector<Vectors> results;
      calm.method = "ok_topk";
      for (unsigned run = 0; run < 3; ++run) {
        ASSERT_EQ(calm.run(any_numbers(calm.states.size(), count, run), "ok_topk", options), "");
        results.push_back(calm.outputs);
        for (const auto& output : calm.outputs) ASSERT_EQ(output, calm.outputs[0]);
      }
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SparseRig stormy(size, drawn_options(seed * 37 + static_cast<std::uint64_t>(size)));
        stormy.method = "ok_topk";
        for (unsigned run = 0; run < 3; ++run) {
          ASSERT_EQ(stormy.run(any_numbers(stormy.states.size(), count, run), "ok_topk", options), "")
              << "seed " << seed;
          ASSERT_TRUE(stormy.outputs == results[run]) << options << " P=" << size << " seed " << seed;
        }
        for (std::size_t rank = 0; rank < calm.states.size(); ++rank) {
          ASSERT_EQ(*stormy.states[rank].save(), *calm.states[rank].save()) << options << " seed " << seed;
        }
      }
    }
  }
}

/// Calls with states of their own are in flight together, on two communicators and on ranks that post them at moments
/// of their own.
TEST(OkOrders, CallsInFlightTogetherDoNotTouchEachOther) {
  constexpr std::size_t calls = 2 * std::size(variants);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto size = static_cast<Rank>(2 + random() % 6);
    const auto p = static_cast<std::size_t>(size);
    Ranks ranks(size, drawn_options(seed));
    std::vector<std::unique_ptr<runtime::Communicator>> others;
    for (Rank rank = 0; rank < size; ++rank) {
      others.push_back(std::make_unique<runtime::Communicator>(ranks.executor(rank), 77));
    }
    std::vector<std::vector<MethodState>> states(p, std::vector<MethodState>(calls));
    std::vector<Vectors> kept(calls, Vectors(p, std::vector<float>(count)));
    for (unsigned round = 0; round < 3; ++round) {
      std::vector<Vectors> inputs, outputs;
      for (std::size_t call = 0; call < calls; ++call) {
        inputs.push_back(gradients(p, count, static_cast<unsigned>(seed * 100 + call * 3) + round));
        outputs.emplace_back(p, std::vector<float>(count));
      }
      std::vector<std::vector<runtime::Run*>> runs(p);
      for (std::size_t left = p * calls; left > 0;) {
        const std::size_t rank = random() % p, call = runs[rank].size();
        if (random() % 3 == 0) ranks.sweep();
        if (call == calls) continue;
        Call next = allreduce_call(inputs[call][rank], outputs[call][rank], "ok_topk");
        next.options.method = *method_options(std::string("ok_topk:") + variants[call / 2]);
        next.options.state = &states[rank][call];
        auto& communicator = call % 2 ? *others[rank] : ranks.communicator(static_cast<Rank>(rank));
        runs[rank].push_back(&must_post(communicator, next));
        --left;
      }
      ASSERT_TRUE(ranks.sweep_until([&] {
        return std::all_of(runs.begin(), runs.end(), [](const auto& own) {
          return std::all_of(own.begin(), own.end(), [](const runtime::Run* run) { return run->finished; });
        });
      })) << "seed "
          << seed;
      for (std::size_t call = 0; call < calls; ++call) {
        Vectors came_out = {outputs[call][0]}, went_in = kept[call];
        went_in.insert(went_in.end(), inputs[call].begin(), inputs[call].end());
        for (std::size_t rank = 0; rank < p; ++rank) {
          ASSERT_TRUE(runs[rank][call]->status) << runs[rank][call]->status.to_string();
          ASSERT_TRUE(outputs[call][rank] == outputs[call][0]) << variants[call / 2] << " seed " << seed;
          const StateArray& residual = *states[rank][call].find(residual_array);
          std::memcpy(kept[call][rank].data(), residual.bytes.data(), residual.bytes.size());
        }
        came_out.insert(came_out.end(), kept[call].begin(), kept[call].end());
        ASSERT_EQ(sum_of(came_out), sum_of(went_in)) << variants[call / 2] << " seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace lacuna::test
