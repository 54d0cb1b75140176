#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "algorithms/skip/skipping.hpp"
#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/contributions.hpp"
#include "tests/support/skip_call.hpp"

// What holds for every algorithm that skips. The conformance suite checks exact sums and bytes of any input.
namespace lacuna::test {
namespace {

constexpr SkipMode modes[] = {SkipMode::Static, SkipMode::Random, SkipMode::Shuffled};

std::vector<Rank> pairs_of_ranks(Rank size) {
  std::vector<Rank> hosts;
  for (Rank rank = 0; rank < size; ++rank) hosts.push_back(rank / 2);
  return hosts;
}

Call call_of(const Algorithm& algorithm, const Skip& skip) {
  Call call{.collective = algorithm.collective, .dtype = Dtype::I64};
  call.options.algorithm = algorithm.name;
  call.options.method = lacuna::skip(skip);
  return call;
}

/// Calls visit(rig, algorithm, hosts, skip) for each algorithm on some numbers of ranks, with two on each host.
template <class T, class Visit>
void each_skip(Collective collective, Visit visit, std::size_t chunk_bytes = skip_chunk_bytes) {
  for (Rank size : {1, 2, 3, 4, 5, 6, 8, 9}) {
    const Hosts hosts(pairs_of_ranks(size));
    SkipRig<T> rig(size, pairs_of_ranks(size), chunk_bytes);
    for (const Algorithm* algorithm : skipping_algorithms(collective)) {
      for (int steps = 0; steps <= skipping_of(*algorithm)->most(hosts); ++steps) {
        for (SkipMode mode : modes) {
          const Skip skip{.steps = steps, .mode = mode, .incomplete = true};
          if (!select_algorithm(call_of(*algorithm, skip), hosts)) continue;
          SCOPED_TRACE(fmt::format("{} on {} ranks, S {} {}", algorithm->name, size, steps, to_string(mode)));
          ASSERT_NO_FATAL_FAILURE(visit(rig, *algorithm, hosts, skip));
        }
      }
    }
  }
}

const Sampler sampler{.seed = 8, .key = 1, .draw = 3};

template <class T, class Change>
std::vector<Call> sampled_calls(SkipRig<T>& rig, const Call& like, Change change) {
  rig.samplers.assign(rig.inputs.size(), sampler);
  return rig.calls_with(like, [&](Call& call, Rank rank) {
    call.options.sampler = &rig.samplers[static_cast<std::size_t>(rank)];
    change(call);
  });
}

template <class T>
std::vector<Call> sampled_calls(SkipRig<T>& rig, const Call& like) {
  return sampled_calls(rig, like, [](Call&) {});
}

TEST(Gaps, SaysWhoContributesToEachElementOfEveryRank) {
  for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather}) {
    each_skip<std::int64_t>(
        collective, [](auto& rig, const Algorithm& algorithm, const Hosts& hosts, const Skip& skip) {
          rig.decode(algorithm.collective == Collective::ReduceScatter ? 37u * rig.inputs.size() : 203u);
          const auto calls = sampled_calls(rig, call_of(algorithm, skip));
          rig.run(calls);
          const Gaps mask({calls[0], algorithm, hosts, skip_chunk_bytes}, sampler);
          for (Rank at = 0; at < rig.ranks.size(); ++at) {
            const auto& output = rig.outputs[static_cast<std::size_t>(at)];
            const auto there = contributions(mask, at, rig.ranks.size(), output.size());
            for (std::size_t i = 0; i < output.size(); ++i) {
              for (Rank from = 0; from < rig.ranks.size(); ++from) {
                if (algorithm.collective == Collective::Allgather && static_cast<Rank>(i / 203) != from) continue;
                ASSERT_EQ(there[static_cast<std::size_t>(from)][i], (output[i] >> from & 1) == 1)
                    << "rank " << from << " to " << at << ", element " << i;
              }
            }
          }
        });
  }
}

TEST(SkipAlgorithms, LeaveOutTheShareThatTheyState) {
  for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather}) {
    each_skip<std::int64_t>(
        collective,
        [](auto& rig, const Algorithm& algorithm, const Hosts& hosts, const Skip& skip) {
          rig.decode(5040);  // divisible by all of these sizes
          const auto calls = sampled_calls(rig, call_of(algorithm, skip));
          rig.run(calls);
          double there = 0, all = 0;
          for (const auto& output : rig.outputs) {
            for (std::int64_t value : output) there += std::popcount(static_cast<std::uint64_t>(value));
            all += static_cast<double>(output.size()) *
                   (algorithm.collective == Collective::Allgather ? 1 : rig.ranks.size());
          }
          ASSERT_NEAR(1 - there / all, skipping_of(algorithm)->left_out(hosts, skip.steps), 1e-12);
        },
        std::size_t{1} << 20);
  }
}

TEST(SkipAlgorithms, GiveAllRanksTheSameBits) {
  each_skip<float>(Collective::Allreduce, [](auto& rig, const Algorithm& algorithm, const Hosts&, const Skip& skip) {
    rig.fill_normal(203, 7);
    for (SkipScale scale : {SkipScale::ZeroFill, SkipScale::Renormalised, SkipScale::Factor}) {
      Call like = call_of(algorithm, skip);
      like.dtype = Dtype::F32;
      like.reduction = Reduction::Avg;
      skip_in(like)->scale = scale;
      skip_in(like)->factor = 0.3;
      rig.run(sampled_calls(rig, like));
      for (const auto& output : rig.outputs) {
        ASSERT_EQ(std::memcmp(output.data(), rig.outputs[0].data(), output.size() * sizeof(float)), 0);
      }
    }
  });
}

TEST(SkipAlgorithms, WithoutStepsEqualTheirDenseFormBitForBitUnderAnyDraw) {
  each_skip<float>(Collective::Allreduce,
                   [](auto& rig, const Algorithm& algorithm, const Hosts& hosts, const Skip& skip) {
                     if (skip.steps > 0) return;
                     rig.fill_normal(203, 8);
                     Call like = call_of(algorithm, skip);
                     like.dtype = Dtype::F32;
                     rig.run(sampled_calls(rig, like));
                     const auto skipping = rig.outputs;
                     const auto samplers = rig.samplers;
                     like.options.method = {};
                     ASSERT_TRUE(select_algorithm(like, hosts)) << like.options.algorithm;
                     rig.run(sampled_calls(rig, like));
                     for (std::size_t rank = 0; rank < skipping.size(); ++rank) {
                       ASSERT_EQ(std::memcmp(skipping[rank].data(), rig.outputs[rank].data(), 203 * sizeof(float)), 0);
                     }
                     ASSERT_EQ(samplers, std::vector<Sampler>(samplers.size(), sampler)) << "drew for nothing";
                   });
}

/// A renormalised sum is the sum of the ranks that are there, times all / there. Both are numbers of ranks, or numbers
/// of hosts if hosts of different sizes are drawn.
struct Share {
  double all, there;
};

Share share_of(const std::vector<std::vector<bool>>& there, std::size_t element, const Hosts& hosts, bool drawn) {
  if (!drawn || hosts.ranks_on_each() > 0) {
    return {static_cast<double>(hosts.size()), static_cast<double>(contributors(there, element))};
  }
  std::set<Rank> hosts_there;
  for (Rank rank = 0; rank < hosts.size(); ++rank) {
    if (there[static_cast<std::size_t>(rank)][element]) hosts_there.insert(hosts.host_of(rank));
  }
  return {static_cast<double>(hosts.count()), static_cast<double>(hosts_there.size())};
}

/// All ranks give 12 in each element. The test shows what each scale makes of a number of contributors.
TEST(SkipAlgorithms, ScaleByTheNumberOfContributors) {
  each_skip<double>(
      Collective::Allreduce, [](auto& rig, const Algorithm& algorithm, const Hosts& hosts, const Skip& skip) {
        const auto size = static_cast<double>(rig.ranks.size());
        for (auto& input : rig.inputs) input.assign(203, 12.0);
        for (Reduction reduction : {Reduction::Sum, Reduction::Avg}) {
          for (SkipScale scale : {SkipScale::ZeroFill, SkipScale::Renormalised, SkipScale::Factor}) {
            Call like = call_of(algorithm, skip);
            like.dtype = Dtype::F64;
            like.reduction = reduction;
            skip_in(like)->scale = scale;
            skip_in(like)->factor = 0.25;
            const auto calls = sampled_calls(rig, like);
            rig.run(calls);
            const Gaps mask({calls[0], algorithm, hosts, skip_chunk_bytes}, sampler);
            const auto mask_of_elements = contributions(mask, 0, rig.ranks.size(), 203);
            for (std::size_t i = 0; i < 203; ++i) {
              const double there = contributors(mask_of_elements, i);
              const bool lacks = there < size;
              const double zeros = reduction == Reduction::Avg ? 12 * there / size : 12 * there;
              const bool drawn = algorithm.by_hosts && skip.mode != SkipMode::Static;
              const Share share = share_of(mask_of_elements, i, hosts, drawn);
              const double mean = 12 * there * share.all / (share.there * (reduction == Reduction::Avg ? size : 1));
              const double expected = scale == SkipScale::Renormalised      ? mean
                                      : scale == SkipScale::Factor && lacks ? 3 * there
                                                                            : zeros;
              ASSERT_EQ(rig.outputs[0][i], expected) << to_string(reduction) << " " << to_string(scale) << " " << there;
            }
          }
        }
      });
}

TEST(SkipAlgorithms, ARatioBecomesTheLargestNumberOfStepsThatLeavesOutNoMore) {
  for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter}) {
    each_skip<std::int64_t>(collective, [](auto& rig, const Algorithm& algorithm, const Hosts& hosts, Skip skip) {
      rig.decode(5040);
      rig.run(sampled_calls(rig, call_of(algorithm, skip)));
      const auto outputs = rig.outputs;
      skip.ratio = skipping_of(algorithm)->left_out(hosts, skip.steps);
      skip.steps = 0;
      rig.run(sampled_calls(rig, call_of(algorithm, skip)));
      ASSERT_EQ(rig.outputs, outputs);
      const int most = skipping_of(algorithm)->most(hosts);
      int next = 0;
      while (next < most && skipping_of(algorithm)->left_out(hosts, next) <= skip.ratio) ++next;
      if (skip.ratio == 0 || next == most) return;
      skip.ratio += 0.9 * (skipping_of(algorithm)->left_out(hosts, next) - skip.ratio);
      rig.run(sampled_calls(rig, call_of(algorithm, skip)));
      ASSERT_EQ(rig.outputs, outputs) << "ratio " << skip.ratio;
    });
  }
}

}  // namespace
}  // namespace lacuna::test
