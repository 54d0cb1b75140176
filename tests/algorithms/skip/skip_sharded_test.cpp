#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/contributions.hpp"
#include "tests/support/skip_call.hpp"

// Sharded data parallelism: gradients are reduced to the owners of the shards, and the weights are gathered from them.
namespace lacuna::test {
namespace {

constexpr std::size_t block = 37;

Call call_of(Collective collective, const Skip& skip) {
  Call call{.collective = collective, .dtype = Dtype::I64};
  call.options.algorithm = "skip_ring";
  call.options.method = lacuna::skip(skip);
  return call;
}

std::vector<Call> calls_with(DecodingRig& rig, const Call& like, const Sampler& sampler) {
  rig.samplers.assign(rig.inputs.size(), sampler);
  return rig.calls_with(
      like, [&](Call& call, Rank rank) { call.options.sampler = &rig.samplers[static_cast<std::size_t>(rank)]; });
}

Gaps mask_of(const Call& call, Rank size, const Sampler& sampler) {
  return {{call, **select_algorithm(call, size), size, skip_chunk_bytes}, sampler};
}

TEST(SkipReduceScatter, OwnersKeepTheirBlocksUnderAnyDraw) {
  for (Rank size : skip_sizes) {
    DecodingRig rig(size, block * static_cast<std::size_t>(size));
    for (int skip = 0; skip < size; ++skip) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Shuffled}) {
        for (std::uint64_t draw = 0; draw < 5; ++draw) {
          const auto before = rig.ranks.counters(0);
          rig.run(calls_with(rig, call_of(Collective::ReduceScatter, {.steps = skip, .mode = mode}), {.draw = draw}));
          for (Rank rank = 0; rank < size; ++rank) {
            for (std::int64_t sum : rig.outputs[static_cast<std::size_t>(rank)]) {
              ASSERT_EQ(std::popcount(static_cast<std::uint64_t>(sum)), size - skip);
              ASSERT_TRUE(sum >> rank & 1) << "the owner's own term is always there";
            }
          }
          const auto after = rig.ranks.counters(0);
          ASSERT_EQ(after.payload_sent - before.payload_sent, static_cast<std::size_t>(size - 1 - skip) * block * 8);
        }
      }
    }
  }
}

TEST(SkipAllgather, LacksExactlySoManyBlocksZeroedOrKeptAsAskedAndTheMaskSaysWhich) {
  for (Rank size : skip_sizes) {
    DecodingRig rig(size, block);
    for (int skip = 0; skip < size; ++skip) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Shuffled}) {
        for (bool keep : {false, true}) {
          const Skip asked{.steps = skip, .mode = mode, .incomplete = true, .keep = keep};
          const Sampler sampler{.seed = 1, .draw = 9};
          const auto calls = calls_with(rig, call_of(Collective::Allgather, asked), sampler);
          for (auto& output : rig.outputs) std::fill(output.begin(), output.end(), 777);
          rig.run(calls);
          const Gaps mask = mask_of(calls[0], size, sampler);
          for (Rank at = 0; at < size; ++at) {
            const auto has = contributions(mask, at, size, static_cast<std::size_t>(size) * block);
            for (std::size_t i = 0; i < block; ++i) {
              int missing = 0;
              for (Rank owner = 0; owner < size; ++owner) {
                const std::size_t element = static_cast<std::size_t>(owner) * block + i;
                const bool there = has[static_cast<std::size_t>(owner)][element];
                missing += !there;
                ASSERT_EQ(rig.outputs[static_cast<std::size_t>(at)][element],
                          there ? std::int64_t{1} << owner : (keep ? 777 : 0));
                ASSERT_TRUE(there || owner != at) << "a rank has its own block";
              }
              ASSERT_EQ(missing, skip);
            }
          }
        }
      }
    }
  }
}

TEST(SkipSharded, TheReversedReduceScatterLeavesOutTheGradientsOfTheWeightsThatARankLacks) {
  for (Rank size : skip_sizes) {
    DecodingRig gradients(size, block * static_cast<std::size_t>(size)), weights(size, block);
    for (int skip = 0; skip < size; ++skip) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Shuffled}) {
        for (std::uint64_t draw = 0; draw < 4; ++draw) {
          const Sampler sampler{.seed = 2, .key = 5, .draw = draw};
          weights.run(calls_with(
              weights, call_of(Collective::Allgather, {.steps = skip, .mode = mode, .incomplete = true}), sampler));
          gradients.run(calls_with(
              gradients, call_of(Collective::ReduceScatter, {.steps = skip, .mode = mode, .reversed = true}), sampler));
          for (Rank rank = 0; rank < size; ++rank) {
            for (Rank owner = 0; owner < size; ++owner) {
              for (std::size_t i = 0; i < block; ++i) {
                const auto shard = static_cast<std::size_t>(owner);
                const bool has = weights.outputs[static_cast<std::size_t>(rank)][shard * block + i] != 0;
                const bool contributes = gradients.outputs[shard][i] >> rank & 1;
                ASSERT_EQ(has, contributes) << size << " ranks, S " << skip << ", rank " << rank << ", shard " << owner;
              }
            }
          }
        }
      }
    }
  }
}

TEST(SkipSharded, ShuffledOrdersLetEveryRankLackEveryBlock) {
  constexpr Rank size = 5;
  DecodingRig rig(size, block);
  std::set<std::pair<Rank, Rank>> lacked;
  for (std::uint64_t draw = 0; draw < 100; ++draw) {
    rig.run(calls_with(rig,
                       call_of(Collective::Allgather, {.steps = 1, .mode = SkipMode::Shuffled, .incomplete = true}),
                       {.draw = draw}));
    for (Rank at = 0; at < size; ++at) {
      for (Rank owner = 0; owner < size; ++owner) {
        const std::size_t first = static_cast<std::size_t>(owner) * block;
        if (rig.outputs[static_cast<std::size_t>(at)][first] == 0) lacked.emplace(at, owner);
      }
    }
  }
  EXPECT_EQ(lacked.size(), 20u);
}

TEST(SkipGatherSteps, LeaveEachRankWithoutTheNextPieces) {
  for (Rank size : skip_sizes) {
    DecodingRig rig(size, 203);
    for (int gather = 0; gather < size; ++gather) {
      const Skip asked{.steps = gather / 2, .incomplete = true, .gather_steps = gather};
      rig.run(calls_with(rig, call_of(Collective::Allreduce, asked), {}));
      each_element(203, 8, size, nullptr, [&](std::size_t i, Rank owner) {
        for (Rank at = 0; at < size; ++at) {
          const Rank behind = (owner - at + size) % size;
          const bool there = behind == 0 || behind > gather;
          const auto sum = static_cast<std::uint64_t>(rig.outputs[static_cast<std::size_t>(at)][i]);
          ASSERT_EQ(std::popcount(sum), there ? size - gather / 2 : 0) << size << " ranks, " << gather;
        }
      });
    }
  }
}

}  // namespace
}  // namespace lacuna::test
