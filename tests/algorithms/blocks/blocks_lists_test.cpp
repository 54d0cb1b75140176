#include <map>
#include <numeric>
#include <set>

#include "algorithms/blocks/steps.hpp"
#include "tests/algorithms/blocks/blocks_rig.hpp"

// Lists of rows as input and output of blocks: keys with values.
namespace lacuna::test {
namespace {

/// The list that a rank brings. Entry i has the elements [i * block, (i + 1) * block).
struct RowList {
  std::vector<std::uint32_t> places;
  Elements values;
};

/// Draws entries in any order. Some of them share a place.
RowList drawn_list(const BlocksCall& call, std::size_t most, bool special, std::mt19937_64& random) {
  const std::size_t blocks = call.input_elements() / call.block;
  RowList list;
  for (std::size_t entries = blocks == 0 ? 0 : random() % (most + 1); entries > 0; --entries) {
    const bool again = !list.places.empty() && random() % 4 == 0;
    list.places.push_back(again ? list.places[random() % list.places.size()]
                                : static_cast<std::uint32_t>(random() % blocks));
    for (std::size_t i = 0; i < call.block; ++i) {
      list.values.push_back(random() % 3 == 0 ? 0 : drawn_element(call.dtype, special, random));
    }
  }
  return list;
}

/// All elements of a list. Those of the same place are added in their order, in the accumulation type, and rounded
/// once.
Elements elements_in(const BlocksCall& call, const RowList& list) {
  Elements all(call.input_elements());
  std::map<std::size_t, Elements> terms;
  for (std::size_t e = 0; e < list.places.size(); ++e) {
    for (std::size_t i = 0; i < call.block; ++i) {
      terms[list.places[e] * call.block + i].push_back(list.values[e * call.block + i]);
    }
  }
  for (const auto& [at, values] : terms) {
    all[at] = values[0];
    if (values.size() == 1) continue;
    double sum = oracle::decode(call.dtype, values[0]);
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (is_integer(call.dtype)) {
        all[at] = oracle::reduce(call.dtype, Reduction::Sum, {}, all[at], values[i]);
      } else {
        sum = oracle::accumulated(call.dtype, sum + oracle::decode(call.dtype, values[i]));
      }
    }
    if (!is_integer(call.dtype)) all[at] = oracle::scaled(call.dtype, sum, {});
  }
  return all;
}

/// The blocks that a rank brings: those of its list, or those that are not zero.
std::set<std::size_t> blocks_of(const BlocksCall& call, const RowList* list, const Elements& input) {
  std::set<std::size_t> blocks;
  if (list) blocks.insert(list->places.begin(), list->places.end());
  for (std::size_t i = 0; !list && i < input.size(); ++i) {
    if (input[i] != 0) blocks.insert(i / call.block);
  }
  return blocks;
}

class ListsRig : public BlocksRig {
 public:
  using BlocksRig::BlocksRig;

  /// Makes the call. Ranks without a list bring their input. With room for entries, all ranks ask for a list.
  std::string run_lists(const std::vector<std::optional<RowList>>& lists, const std::vector<Elements>& inputs,
                        std::optional<std::size_t> room) {
    static std::uint32_t none = 0;
    std::vector<Block> in, out;
    std::vector<std::vector<std::uint32_t>> places(call.ranks(), std::vector<std::uint32_t>(room.value_or(0) + 1, 77));
    std::vector<Call> calls;
    found.assign(call.ranks(), 12345);
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      const auto& list = lists[rank];
      in.push_back(block_of(call.dtype, list ? list->values : inputs[rank], call.misalignment));
      out.push_back(
          block_of(call.dtype, Elements(room ? *room * call.block : call.output_elements(), 99), call.misalignment));
    }
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      Call made = call_of(rank, in[rank], out[rank]);
      const auto& list = lists[rank];
      if (list) {
        made.input_entries = {list->places.empty() ? &none : list->places.data(), list->places.size(), call.block};
      }
      if (room) made.output_entries = {places[rank].data(), *room, &found[rank], call.block};
      calls.push_back(made);
    }
    std::vector<Counters> before;
    for (Rank rank = 0; rank < call.size; ++rank) before.push_back(ranks.counters(rank));
    if (const std::string ended = run_calls(calls); !ended.empty()) return ended;
    outputs.clear();
    results.clear();
    payload = 0;
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      if (room && rank >= call.bringing()) {
        EXPECT_EQ(found[rank], 12345u) << "who only adds up gets no result";
        found[rank] = 0;
      }
      const std::size_t listed = room ? found[rank] * call.block : call.output_elements();
      outputs.push_back(elements_of(call.dtype, out[rank].data(), listed));
      EXPECT_TRUE(in[rank].guards_hold() && out[rank].guards_hold()) << call.name();
      EXPECT_TRUE(!room || places[rank].back() == 77u) << call.name();
      if (room) places[rank].resize(found[rank]);
      results.push_back(places[rank]);
      payload += ranks.counters(static_cast<Rank>(rank)).payload_sent - before[rank].payload_sent;
    }
    return "";
  }

  std::vector<std::size_t> found;                   ///< entries of each rank's output
  std::vector<std::vector<std::uint32_t>> results;  ///< their places
  std::uint64_t payload = 0;                        ///< that all ranks have sent
};

/// What a call brings and should give.
struct Given {
  std::vector<std::optional<RowList>> lists;
  std::vector<Elements> inputs;
  std::vector<Elements> outputs;
  std::vector<std::vector<std::uint32_t>> places;  ///< of the entries of each rank's output

  /// With `mixed`, every third rank brings all elements.
  Given(const BlocksCall& call, std::size_t most, bool mixed, bool special, unsigned seed) {
    std::mt19937_64 random(seed);
    inputs = block_inputs(call, BlockPattern::Drawn, seed, special);
    std::vector<std::set<std::size_t>> brought;
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      auto& list = lists.emplace_back();
      if (!mixed || rank % 3 != 1) list = drawn_list(call, most, special, random);
      if (list) inputs[rank] = elements_in(call, *list);
      brought.push_back(blocks_of(call, list ? &*list : nullptr, inputs[rank]));
    }
    outputs = expected_outputs(call, inputs);
    const std::size_t blocks = call.count / call.block;
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      std::set<std::uint32_t> all;
      for (std::size_t from = 0; from < call.bringing(); ++from) {
        for (std::size_t place : brought[from]) {
          if (call.collective == Collective::Allgather) place += from * blocks;
          if (call.collective == Collective::ReduceScatter && place / blocks != rank) continue;
          all.insert(static_cast<std::uint32_t>(call.collective == Collective::ReduceScatter ? place % blocks : place));
        }
      }
      places.emplace_back(all.begin(), all.end());
    }
  }

  std::size_t longest() const {
    std::size_t most = 0;
    for (const auto& one : places) most = std::max(most, one.size());
    return most;
  }
};

void expect_lists(ListsRig& rig, const Given& given, std::optional<std::size_t> room, const std::string& what) {
  const BlocksCall& call = rig.call;
  ASSERT_EQ(rig.run_lists(given.lists, given.inputs, room), "") << call.name() << ", " << what;
  for (std::size_t rank = 0; rank < call.bringing(); ++rank) {
    Elements expected = given.outputs[rank];
    if (room) {
      ASSERT_EQ(rig.results[rank], given.places[rank]) << call.name() << ", " << what;
      expected.clear();
      for (std::size_t place : given.places[rank]) {
        const auto begin = given.outputs[rank].begin() + static_cast<std::ptrdiff_t>(place * call.block);
        expected.insert(expected.end(), begin, begin + static_cast<std::ptrdiff_t>(call.block));
      }
    }
    ASSERT_EQ(rig.outputs[rank].size(), expected.size()) << call.name() << ", " << what;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(oracle::same(call.dtype, rig.outputs[rank][i], expected[i]))
          << call.name() << ", " << what << ": element " << i << " of rank " << rank << " is " << std::hex
          << rig.outputs[rank][i] << ", not " << expected[i];
    }
  }
}

constexpr Collective collectives[] = {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather};

TEST(BlocksLists, GiveTheResultsOfAllTheirElements) {
  for (Rank size = 1; size <= 9; ++size) {
    for (Collective collective : collectives) {
      for (std::size_t rows : {0u, 1u, 5u, 130u}) {
        for (std::size_t block : {1u, 3u, 40u}) {
          ListsRig rig({.size = size,
                        .count = rows * block,
                        .block = block,
                        .collective = collective,
                        .dtype = Dtype::I32,
                        .misalignment = block % 4});
          for (bool mixed : {false, true}) {
            const Given given(rig.call, rows, mixed, false, static_cast<unsigned>(rows + block));
            expect_lists(rig, given, {}, mixed ? "all elements, mixed" : "all elements");
            if (HasFatalFailure()) return;
            expect_lists(rig, given, given.longest() + rows % 2, mixed ? "a list, mixed" : "a list");
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlocksLists, OfEachTypeAndReductionHaveTheBitsOfTheOrderedReduction) {
  for (Dtype dtype : real_dtypes) {
    for (Reduction reduction : all_reductions) {
      if (reduction == Reduction::Avg && is_integer(dtype)) continue;
      for (Collective collective : collectives) {
        for (std::size_t block : {2u, 33u}) {
          ListsRig rig({.size = 4,
                        .count = 60 * block,
                        .block = block,
                        .collective = collective,
                        .dtype = dtype,
                        .reduction = reduction,
                        .misalignment = 1});
          const Given given(rig.call, 90, false, true, 5);
          expect_lists(rig, given, {}, "special values");
          expect_lists(rig, given, given.longest(), "special values, listed");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(BlocksLists, WithAggregatorsGiveTheSame) {
  for (Rank size : {3, 5, 8}) {
    for (Rank owners = 1; owners < size; ++owners) {
      for (bool dedicated : {false, true}) {
        ListsRig rig({.size = size,
                      .count = 700,
                      .block = 7,
                      .dtype = Dtype::I64,
                      .more = fmt::format(",aggregators={}{}", owners, dedicated ? ",dedicated=1" : ""),
                      .dedicated = dedicated ? owners : 0});
        const Given given(rig.call, 80, owners % 2 == 0, false, 3);
        expect_lists(rig, given, {}, "all elements");
        expect_lists(rig, given, given.longest(), "a list");
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// A rank sends a number and the values of each of its rows to their owner. The owner sends that of each row of the
/// result to all others. Each set begins with 4 bytes.
TEST(BlocksLists, SendANumberAndTheValuesOfEachRow) {
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 200; ++i) {
    BlocksCall call{.size = 2 + static_cast<Rank>(random() % 7), .dtype = Dtype::F32};
    call.block = 1 + random() % 20;
    call.count = call.block * (1 + random() % 4000);
    ListsRig rig(call, in_one_part());
    const Given given(call, 1 + random() % 60, false, false, i);
    expect_lists(rig, given, given.longest(), "bytes");
    if (HasFatalFailure()) return;
    const std::uint64_t row = 4 + 4 * call.block, others = call.ranks() - 1;
    std::uint64_t most = 2 * 4 * call.ranks() * others + others * row * given.places[0].size();
    for (const auto& list : given.lists) {
      most += row * std::set<std::uint32_t>(list->places.begin(), list->places.end()).size();
    }
    EXPECT_LE(rig.payload, most) << call.name();
  }
}

TEST(BlocksLists, ARowOfZerosTravelsIfItIsListed) {
  ListsRig rig({.size = 3, .count = 24, .block = 4});
  std::vector<std::optional<RowList>> lists(3, RowList());
  lists[1] = RowList{{5, 2}, Elements(8)};
  ASSERT_EQ(rig.run_lists(lists, std::vector<Elements>(3), 6), "");
  for (const auto& places : rig.results) EXPECT_EQ(places, (std::vector<std::uint32_t>{2, 5}));
}

TEST(BlocksLists, TheCallsOfAJobDifferInTheirLists) {
  ListsRig rig({.size = 5, .count = 400, .block = 4, .dtype = Dtype::I32});
  for (unsigned run = 0; run < 40; ++run) {
    const Given given(rig.call, run % 7 == 0 ? 0 : 5 * run, run % 3 == 0, false, run);
    expect_lists(rig, given, run % 2 == 0 ? std::optional(given.longest()) : std::nullopt, fmt::format("run {}", run));
    if (HasFatalFailure()) return;
  }
}

TEST(BlocksLists, PlacesBeyondTheDataAndTooLittleRoomAreErrors) {
  const auto error_of = [](const RowList& list, std::optional<std::size_t> room) {
    ListsRig rig({.size = 1, .count = 24, .block = 4});
    return rig.run_lists({list}, {Elements(24)}, room);
  };
  EXPECT_EQ(error_of({{5, 6}, Elements(8)}, {}),
            "invalid argument: rank 0: find blocks: entry 1 of the input has the place 6, must be less than the number "
            "of blocks, 6");
  EXPECT_EQ(error_of({{5, 1}, Elements(8, 1)}, 1),
            "invalid argument: rank 0: read sets: the result has 2 entries, the output has room for 1");
}

TEST(BlocksLists, MoreRoomThanThereAreBlocksTakesNoMemory) {
  std::uint32_t place = 2, places[6] = {};
  struct {
    std::uint8_t values[6] = {};
    std::uint8_t value = 7;  // it lies within the room, not within the blocks
  } memory;
  std::size_t found = 0;
  Ranks ranks(1);
  Call call{.collective = Collective::Allreduce,
            .input = &memory.value,
            .output = memory.values,
            .count = 6,
            .dtype = Dtype::U8};
  call.options.method = *method_options("blocks:block=1");
  call.input_entries = {&place, 1, 1};
  call.output_entries = {places, std::size_t{1} << 62, &found, 1};
  const auto run = ranks.post(0, call);
  ASSERT_TRUE(run) << run.status().to_string();
  ASSERT_TRUE(ranks.sweep_until([&] { return (*run)->finished; }));
  EXPECT_EQ((*run)->status.to_string(), "ok");
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(places[0], 2u);
  EXPECT_EQ(memory.values[0], 7u);
}

/// No machine has memory for these data.
TEST(BlocksLists, TakeNoMemoryAsLongAsTheData) {
  constexpr std::size_t block = 1 << 16, count = block << 22;
  for (const Collective collective : {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather}) {
    for (const char* more : {"", ",aggregators=1"}) {
      if (collective != Collective::Allreduce && *more != 0) continue;
      ListsRig rig({.size = 3, .count = count, .block = block, .collective = collective, .more = more});
      const std::optional<RowList> row = RowList{{77}, Elements(block, oracle::encode(Dtype::F32, 1))};
      ASSERT_EQ(rig.run_lists({row, row, RowList()}, std::vector<Elements>(3), 2), "") << more;
      const bool gathers = collective == Collective::Allgather;
      EXPECT_EQ(rig.results[0].size(), gathers ? 2u : 1u) << more;
      EXPECT_EQ(rig.results[0].at(0), 77u) << more;
      EXPECT_EQ(oracle::decode(Dtype::F32, rig.outputs[0].at(block - 1)), gathers ? 1 : 2) << more;
    }
  }
}

TEST(BlocksLists, WhatCantTakeThemSaysSo) {
  const std::vector<std::optional<RowList>> lists(3, RowList());
  const auto refusal = [&](BlocksCall call) {
    call.size = 3;
    return ListsRig(call).run_lists(lists, std::vector<Elements>(3, Elements(call.input_elements())), {});
  };
  EXPECT_EQ(refusal({.count = 24, .block = 4, .algorithm = "streamed_blocks"}),
            "invalid argument: allreduce of streamed_blocks takes no lists of entries; planned_blocks takes them, in "
            "allreduce, reduce_scatter and allgather");
  EXPECT_EQ(refusal({.count = 24, .block = 4, .collective = Collective::Broadcast}),
            "invalid argument: broadcast of planned_blocks takes no lists of entries; planned_blocks takes them, in "
            "allreduce, reduce_scatter and allgather");
  EXPECT_EQ(refusal({.count = 24, .block = 0}),
            "invalid argument: a list of entries needs blocks.block, which says how many elements an entry has: it "
            "must not be 0");
  EXPECT_EQ(refusal({.count = 24, .block = 4, .more = ",threshold=1"}),
            "invalid argument: blocks.threshold must be 0 if buffers hold entries, which all travel");
  EXPECT_EQ(refusal({.count = 25, .block = 4}),
            "invalid argument: entries of 4 elements: the count is 25, must be a multiple of that");

  std::uint32_t none = 0;
  Call call{.collective = Collective::ReduceScatter, .count = 2147483648, .dtype = Dtype::U8};
  call.options.method = *method_options("blocks:block=1");
  call.input_entries = {&none, 0, 1};
  EXPECT_EQ(blocks_method.check(call, block::reduce_scatter, Hosts(3)).to_string(),
            "invalid argument: reduce_scatter of 6442450944 blocks: places of entries have 32 bits, at most 4294967295 "
            "are allowed; cut the call");
}

}  // namespace
}  // namespace lacuna::test
