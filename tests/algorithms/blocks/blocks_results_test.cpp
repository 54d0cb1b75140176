#include "algorithms/registry/gaps.hpp"
#include "tests/algorithms/blocks/blocks_rig.hpp"

// What blocks give: the bits of a reduction of all elements.
namespace lacuna::test {
namespace {

constexpr Collective collectives[] = {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather,
                                      Collective::Broadcast};

/// The algorithms that serve a collective, with options for them.
struct Served {
  std::string algorithm, more;
};
std::vector<Served> served(Collective collective) {
  std::vector<Served> all = {{"planned_blocks", ""}};
  if (collective != Collective::Allreduce) return all;
  all.push_back({"streamed_blocks", ""});
  all.push_back({"streamed_blocks", ",slots=3,columns=1"});
  all.push_back({"streamed_blocks", ",slots=2,columns=3,burst=1"});
  return all;
}

TEST(BlocksResults, OfEachPatternAreThoseOfAllElements) {
  for (Rank size = 1; size <= 9; ++size) {
    for (Collective collective : collectives) {
      for (std::size_t count : {0u, 1u, 3u, 4u, 5u, 100u, 333u}) {
        for (const Served& by : served(collective)) {
          const bool in_place = (count + by.more.size()) % 2 == 0;
          BlocksRig rig({.size = size,
                         .count = count,
                         .collective = collective,
                         .dtype = Dtype::I32,
                         .algorithm = by.algorithm,
                         .more = by.more,
                         .in_place = in_place,
                         .root = size / 2});
          for (BlockPattern pattern : block_patterns) {
            rig.expect(block_inputs(rig.call, pattern, 1 + static_cast<unsigned>(count)),
                       fmt::format("pattern {}", static_cast<int>(pattern)));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlocksResults, OfEachTypeAndReductionHaveTheBitsOfTheOrderedReduction) {
  for (Dtype dtype : real_dtypes) {
    for (Reduction reduction : all_reductions) {
      if (reduction == Reduction::Avg && is_integer(dtype)) continue;
      for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter}) {
        for (const Served& by : served(collective)) {
          const bool in_place = by.more.size() % 2 == static_cast<std::size_t>(reduction) % 2;
          BlocksRig rig({.size = 5,
                         .count = 211,
                         .block = 7,
                         .collective = collective,
                         .dtype = dtype,
                         .reduction = reduction,
                         .algorithm = by.algorithm,
                         .more = by.more,
                         .in_place = in_place,
                         .misalignment = 1});
          for (unsigned seed : {1u, 2u, 3u}) {
            rig.expect(block_inputs(rig.call, BlockPattern::Drawn, seed, true), "special values");
            if (HasFatalFailure()) return;
          }
          rig.expect(block_inputs(rig.call, BlockPattern::All, 4, true), "all blocks");
        }
      }
    }
  }
}

TEST(BlocksResults, WhatIsOnlyMovedKeepsAllBits) {
  for (Dtype dtype : real_dtypes) {
    for (Collective collective : {Collective::Allgather, Collective::Broadcast}) {
      BlocksRig rig({.size = 4, .count = 97, .block = 6, .collective = collective, .dtype = dtype, .root = 3});
      rig.expect(block_inputs(rig.call, BlockPattern::Drawn, 1, true), "special values");
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BlocksResults, ABroadcastHasTheRootsDataWhateverTheReduction) {
  for (Rank size : {1, 2, 3, 5}) {
    for (Rank root = 0; root < size; ++root) {
      for (Reduction reduction : all_reductions) {
        for (bool in_place : {false, true}) {
          BlocksRig rig({.size = size,
                         .count = 1,
                         .block = 7,
                         .collective = Collective::Broadcast,
                         .dtype = Dtype::F64,
                         .reduction = reduction,
                         .in_place = in_place,
                         .root = root});
          for (std::size_t count : {1u, 50u}) {
            rig.call.count = count;
            rig.expect(block_inputs(rig.call, BlockPattern::All, 3), "broadcast");
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlocksResults, NoRankLacksWhatOthersBring) {
  for (Collective collective : collectives) {
    for (const Served& by : served(collective)) {
      for (Rank root : {0, 2}) {
        BlocksRig rig({.size = 3, .count = 10, .collective = collective, .algorithm = by.algorithm, .root = root});
        Block none(0, 0);
        const Call call = rig.call_of(0, none, none);
        const Gaps gaps({call, **select_algorithm(call, Hosts(3)), Hosts(3), 1 << 20}, Sampler());
        for (Rank rank = 0; rank < 3; ++rank) EXPECT_TRUE(gaps.of(rank).empty()) << rig.call.name();
      }
    }
  }
}

TEST(BlocksResults, AnyNumberOfRanksMayAddUp) {
  for (Rank size : {1, 2, 5, 8}) {
    for (Rank aggregators : {1, 2, 3, 8, 20}) {
      for (Collective collective : {Collective::Allreduce, Collective::Broadcast}) {
        for (const Served& by : served(collective)) {
          BlocksRig rig({.size = size,
                         .count = 150,
                         .collective = collective,
                         .dtype = Dtype::I64,
                         .algorithm = by.algorithm,
                         .more = fmt::format("{},aggregators={}", by.more, aggregators),
                         .root = size - 1});
          for (BlockPattern pattern : block_patterns) {
            rig.expect(block_inputs(rig.call, pattern, 5), fmt::format("pattern {}", static_cast<int>(pattern)));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlocksResults, DedicatedAggregatorsGiveWhatTheOthersAloneWouldGet) {
  for (Rank bringing : {1, 2, 3, 5}) {
    for (Rank dedicated : {1, 2, 3}) {
      for (const Served& by : served(Collective::Allreduce)) {
        for (Reduction reduction : {Reduction::Avg, Reduction::Max}) {
          BlocksRig rig({.size = bringing + dedicated,
                         .count = 150,
                         .reduction = reduction,
                         .algorithm = by.algorithm,
                         .more = fmt::format("{},aggregators={},dedicated=1", by.more, dedicated),
                         .in_place = reduction == Reduction::Max,
                         .dedicated = dedicated},
                        drawn_options(static_cast<std::uint64_t>(bringing * 7 + dedicated)));
          for (BlockPattern pattern : block_patterns) {
            rig.expect(block_inputs(rig.call, pattern, 5), fmt::format("pattern {}", static_cast<int>(pattern)));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlocksResults, DedicatedAggregatorsMustLeaveARankAndServeAllreduce) {
  BlocksRig rig({.size = 3, .count = 10, .more = ",dedicated=1"});
  const auto inputs = block_inputs(rig.call, BlockPattern::All, 1);
  EXPECT_EQ(rig.run(inputs),
            "invalid argument: blocks.dedicated=1 needs aggregators, and this job has none: start it by `lacuna launch "
            "--aggregators N`, or let the last N ranks do nothing else by aggregators=N");
  rig.call.more = ",dedicated=1,aggregators=3";
  EXPECT_EQ(rig.run(inputs),
            "invalid argument: blocks.dedicated=1 needs a rank that is no aggregator: aggregators is 3, on 3 ranks at "
            "most 2 are allowed, or 0 for the job's own aggregators");
  rig.call.more = ",dedicated=1,aggregators=1";
  rig.call.collective = Collective::Broadcast;
  EXPECT_EQ(rig.run(inputs), "invalid argument: blocks.dedicated serves allreduce, not broadcast: it must be 0");
}

TEST(BlocksResults, OfTheMostColumnsAndSlotsAreThoseOfAllElements) {
  for (const char* more : {",slots=2,columns=64", ",slots=65536,columns=1"}) {
    BlocksRig rig({.size = 2, .count = 70'000, .block = 1, .algorithm = "streamed_blocks", .more = more});
    rig.expect(block_inputs(rig.call, BlockPattern::Drawn, 6), more);
  }
}

TEST(BlocksResults, OfMoreRanksThanAreAddedUpAtOnceAreRefused) {
  Call call{.collective = Collective::Allreduce, .count = 10, .options = {.algorithm = "planned_blocks"}};
  call.options.method = *method_options("blocks:block=1");
  EXPECT_TRUE(select_algorithm(call, 1024));
  EXPECT_EQ(select_algorithm(call, 1025).status().message(),
            "planned_blocks adds up the blocks of all ranks at once: 1025 ranks, at most 1024 are allowed");
}

TEST(BlocksResults, BlocksOfAnyLengthServe) {
  for (std::size_t block : {1u, 2u, 31u, 33u, 256u, 1000u, 5000u}) {
    for (std::size_t count : {block - 1, block, block + 1, 3 * block + 1, std::size_t{2000}}) {
      for (const Served& by : served(Collective::Allreduce)) {
        BlocksRig rig(
            {.size = 3, .count = count, .block = block, .algorithm = by.algorithm, .more = by.more, .misalignment = 3});
        rig.expect(block_inputs(rig.call, BlockPattern::Drawn, 7), "any length");
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BlocksResults, AreTheSameInWhateverOrderMessagesCome) {
  for (std::uint64_t seed = 0; seed < 10 * drawn_orders; ++seed) {
    for (const Served& by : served(Collective::Allreduce)) {
      BlocksRig rig(
          {.size = static_cast<Rank>(1 + seed % 9), .count = 1000 + seed, .algorithm = by.algorithm, .more = by.more},
          drawn_options(seed));
      for (unsigned run = 0; run < 3; ++run) {
        rig.expect(block_inputs(rig.call, BlockPattern::Drawn, run, true), fmt::format("seed {}", seed));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BlocksResults, OfManyCallsOfDifferentLengthsLeaveNothingBehind) {
  BlocksRig rig({.size = 4}, drawn_options(5));
  std::mt19937_64 random(3);
  for (unsigned run = 0; run < 1000; ++run) {
    const std::vector<Served> by = served(Collective::Allreduce);
    rig.call.algorithm = by[run % by.size()].algorithm;
    rig.call.more = by[run % by.size()].more;
    rig.call.count = random() % 200;
    rig.call.block = 1 + random() % 20;
    rig.expect(block_inputs(rig.call, block_patterns[run % std::size(block_patterns)], run), "one of many");
    if (HasFatalFailure()) return;
  }
}

TEST(BlocksResults, OfEightCallsAtATimeAreThoseOfEachAlone) {
  constexpr std::size_t at_a_time = 8;
  for (const Served& by : served(Collective::Allreduce)) {
    for (std::uint64_t seed = 1; seed <= drawn_orders; ++seed) {
      BlocksRig rig({.size = 4, .algorithm = by.algorithm, .more = by.more}, drawn_options(seed));
      std::vector<std::vector<Elements>> expected;
      std::vector<std::vector<Block>> in(at_a_time), out(at_a_time);
      std::vector<runtime::Run*> runs;
      for (std::size_t i = 0; i < at_a_time; ++i) {
        rig.call.count = 37 * i + seed;
        const auto inputs = block_inputs(rig.call, BlockPattern::Drawn, static_cast<unsigned>(i));
        expected.push_back(expected_outputs(rig.call, inputs));
        for (std::size_t rank = 0; rank < 4; ++rank) {
          in[i].push_back(block_of(rig.call.dtype, inputs[rank], 0));
          out[i].push_back(block_of(rig.call.dtype, Elements(rig.call.count, 99), 0));
        }
        for (std::size_t rank = 0; rank < 4; ++rank) {
          Call made = rig.call_of(rank, in[i][rank], out[i][rank]);
          made.options.state = nullptr;
          const auto posted = rig.ranks.post(static_cast<Rank>(rank), made);
          ASSERT_TRUE(posted) << posted.status().to_string();
          runs.push_back(*posted);
        }
      }
      ASSERT_TRUE(rig.ranks.sweep_until(
          [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); }));
      for (std::size_t i = 0; i < at_a_time; ++i) {
        for (std::size_t rank = 0; rank < 4; ++rank) {
          ASSERT_TRUE(runs[4 * i + rank]->status) << runs[4 * i + rank]->status.to_string();
          EXPECT_EQ(elements_of(rig.call.dtype, out[i][rank].data(), expected[i][rank].size()), expected[i][rank]);
        }
      }
    }
  }
}

void expect_mass(BlocksRig& rig) {
  std::vector<double> put_in(rig.call.input_elements()), came_out(put_in.size());
  for (unsigned run = 0; run < 6; ++run) {
    const std::vector<Elements> inputs = block_inputs(rig.call, BlockPattern::Drawn, run);
    ASSERT_EQ(rig.run(inputs), "");
    for (std::size_t i = 0; i < put_in.size(); ++i) {
      for (const Elements& input : inputs) put_in[i] += oracle::decode(Dtype::F64, input[i]);
      const std::size_t rank = rig.call.collective == Collective::ReduceScatter ? i / rig.call.count : 0;
      came_out[i] += oracle::decode(Dtype::F64, rig.outputs[rank][i % rig.call.count]);
    }
  }
  bool keeps_any = false;
  for (const MethodState& state : rig.states) {
    const StateArray& residual = *state.find("residual");
    for (std::size_t i = 0; i < put_in.size(); ++i) {
      const double kept = oracle::decode(Dtype::F64, element(Dtype::F64, residual.bytes.data(), i));
      came_out[i] += kept;
      keeps_any = keeps_any || kept != 0;
    }
  }
  EXPECT_EQ(came_out, put_in) << rig.call.name();
  EXPECT_TRUE(keeps_any) << rig.call.name();
}

TEST(BlocksResults, WithAThresholdWhatStaysBehindIsAddedLater) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    for (bool in_place : {false, true}) {
      for (const Collective collective : {Collective::Allreduce, Collective::ReduceScatter}) {
        for (const Served& by : served(collective)) {
          BlocksRig rig({.size = size,
                         .count = 120,
                         .collective = collective,
                         .dtype = Dtype::F64,
                         .algorithm = by.algorithm,
                         .more = ",threshold=5" + by.more,
                         .in_place = in_place});
          ASSERT_NO_FATAL_FAILURE(expect_mass(rig));
        }
      }
    }
  }
}

TEST(BlocksResults, WithAThresholdOnlyBlocksWithALargerElementTravel) {
  BlocksRig rig({.size = 2, .count = 12, .more = ",threshold=3"});
  const auto bits = [](float value) { return oracle::to_bits(value); };
  std::vector<Elements> inputs(2, Elements(12));
  inputs[0] = {bits(3), 0, bits(-3), 0, bits(1), bits(-4), 0, 0, 0, 0, 0, bits(2)};
  inputs[1] = {0, 0, 0, bits(5), bits(2), 0, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(rig.run(inputs), "");
  const Elements first = {0, 0, 0, bits(5), bits(1), bits(-4), 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(rig.outputs[0], first);
  EXPECT_EQ(rig.outputs[1], first);
  ASSERT_EQ(rig.run(inputs), "");
  const Elements second = {bits(6), 0, bits(-6), bits(5), bits(5), bits(-4), 0, 0, 0, 0, 0, bits(4)};
  EXPECT_EQ(rig.outputs[0], second);
}

}  // namespace
}  // namespace lacuna::test
