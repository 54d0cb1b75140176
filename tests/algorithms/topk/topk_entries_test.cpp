#include <map>
#include <set>

#include "algorithms/phases/sparse.hpp"
#include "tests/algorithms/topk/entries_rig.hpp"
#include "tests/support/guarded_compute.hpp"
#include "tests/support/oracle.hpp"

// Inputs and outputs of entries, and the collectives of sharded training.
namespace lacuna::test {
namespace {

class SparseEntries : public testing::TestWithParam<const char*> {};

TEST_P(SparseEntries, InAnyOrderAndDoubledTheyAreAddedAsIfTheyWereDense) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    EntriesRig rig(size);
    for (Pattern pattern : all_patterns) {
      const Vectors dense = sparse_inputs(pattern, rig.states.size(), 300, 4);
      std::vector<Entries> given;
      for (std::size_t rank = 0; rank < dense.size(); ++rank) given.push_back(shuffled(dense[rank], unsigned(rank)));
      const Call call = rig.call_of(Collective::Allreduce, GetParam(), "density=1,feedback=0", 300);
      ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, &given, {}, 300, 0)));
      for (const auto& output : rig.outputs) ASSERT_EQ(output, sum_of(dense)) << size << static_cast<int>(pattern);
    }
  }
}

TEST_P(SparseEntries, OutputsAscendAndHoldEachEntryOfTheSumOnce) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    EntriesRig rig(size);
    for (Pattern pattern : all_patterns) {
      const Vectors dense = sparse_inputs(pattern, rig.states.size(), 300, 4);
      const Call call = rig.call_of(Collective::Allreduce, GetParam(), "density=1,feedback=0", 300);
      ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, nullptr, dense, 0, 300)));
      for (std::size_t rank = 0; rank < dense.size(); ++rank) {
        ASSERT_EQ(rig.results[rank], entries_of(sum_of(dense))) << size << " " << static_cast<int>(pattern);
        ASSERT_EQ(rig.counts[rank], rig.results[rank].places.size());
      }
    }
  }
}

TEST_P(SparseEntries, MoreThanKAreSelectedFromAndWithFeedbackTheRestIsKept) {
  EntriesRig rig(3), other(3);
  for (unsigned run = 0; run < 3; ++run) {
    const Vectors dense = sparse_inputs(Pattern::Full, 3, 90, run);
    std::vector<Entries> given;
    for (const auto& one : dense) given.push_back(entries_of(one));
    const Call call = rig.call_of(Collective::Allreduce, GetParam(), "k=10", 90);
    ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, &given, {}, 90, 0)));
    ASSERT_EQ(other.SparseRig::run(dense, GetParam(), "k=10"), "");
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(rig.outputs[rank], other.outputs[rank]);
      EXPECT_EQ(rig.residual(rank), other.residual(rank));
    }
    Vectors largest;
    for (const auto& one : dense) largest.push_back(only(one, largest_places(one, 10)));
    const Call lossy = rig.call_of(Collective::Allreduce, GetParam(), "k=10,feedback=0", 90);
    ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(lossy, &given, {}, 90, 0)));
    for (const auto& output : rig.outputs) EXPECT_EQ(output, sum_of(largest));
  }
}

TEST_P(SparseEntries, EachRankMayGiveItsOwnNumberAlsoNone) {
  EntriesRig rig(4);
  Vectors dense(4, std::vector<float>(5000));
  for (std::size_t i = 0; i < 4000; ++i) dense[1][i] = static_cast<float>(i % 7 + 1);
  dense[3][4999] = 3;
  std::vector<Entries> given;
  for (const auto& one : dense) given.push_back(entries_of(one));
  const Call call = rig.call_of(Collective::Allreduce, GetParam(), "density=1,feedback=0", 5000);
  ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, &given, {}, 0, 5000)));
  for (const auto& result : rig.results) EXPECT_EQ(result, entries_of(sum_of(dense)));
}

TEST_P(SparseEntries, OfTheLongestArraysPlacesAreExactAlsoAtTheBordersOfRanges) {
  constexpr Rank size = 5;
  constexpr std::size_t count = 4294967295;
  ASSERT_GT(sparse::bins_for(4096, size), 0);
  EntriesRig rig(size);
  std::vector<Entries> given(size);
  std::map<std::uint32_t, float> sum;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    std::set<std::size_t> places = {0, 1, count - 1 - rank};
    for (std::size_t i = 1; i < size; ++i) {
      const std::size_t border = exact_boundary(i, count, size);
      places.insert({border - 1 - rank, border - 1, border, border + rank});
    }
    for (std::size_t place : places) {
      given[rank].places.push_back(static_cast<std::uint32_t>(place));
      given[rank].values.push_back(static_cast<float>(rank + 1));
      sum[given[rank].places.back()] += given[rank].values.back();
    }
  }
  Entries all;
  for (const auto& [place, value] : sum) all.places.push_back(place), all.values.push_back(value);
  for (const char* options : {"k=4096,feedback=0", "k=4096,feedback=0,ranges=even"}) {
    const Call call = rig.call_of(Collective::Allreduce, GetParam(), options, count);
    ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, &given, {}, 0, 1000)));
    for (const Entries& result : rig.results) EXPECT_EQ(result, all) << options;
  }
}

TEST_P(SparseEntries, APlaceBeyondTheDataIsRefused) {
  EntriesRig rig(3);
  const std::vector<Entries> given = {{{1}, {2}}, {{7, 50}, {2, 1}}, {{}, {}}};
  const Call call = rig.call_of(Collective::Allreduce, GetParam(), "density=1,feedback=0", 50);
  const Status end = rig.run(call, &given, {}, 50, 0)[1];
  EXPECT_EQ(end.code(), Code::InvalidArgument) << end.to_string();
  EXPECT_NE(end.message().find("rank 1"), std::string_view::npos) << end.to_string();
  EXPECT_NE(end.message().find("entry 1 of the input has the place 50, must be less than the number of elements, 50"),
            std::string_view::npos)
      << end.to_string();
}

TEST_P(SparseEntries, TooLittleRoomIsAnErrorThatSaysHowMuchIsNeeded) {
  EntriesRig rig(2);
  const Vectors dense(2, std::vector<float>(20, 1));
  const Call call = rig.call_of(Collective::Allreduce, GetParam(), "density=1,feedback=0", 20);
  for (const Status& end : rig.run(call, nullptr, dense, 0, 19)) {
    EXPECT_EQ(end.code(), Code::InvalidArgument) << end.to_string();
    EXPECT_NE(end.message().find("20 entries"), std::string_view::npos) << end.to_string();
    EXPECT_NE(end.message().find("room for 19"), std::string_view::npos) << end.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(, SparseEntries, testing::ValuesIn(sparse_allreduces),
                         [](const auto& one) { return std::string(one.param); });

TEST(SparseShards, ReduceScatterGivesEachRankTheSumOfItsBlockAndKeepsTheRest) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    const auto p = static_cast<std::size_t>(size);
    for (std::size_t count : {0u, 1u, 31u}) {
      for (const std::size_t k : {p * count, std::size_t{9}}) {
        EntriesRig rig(size);
        Vectors kept(p, std::vector<float>(p * count));
        for (unsigned run = 0; run < 3; ++run) {
          const Vectors dense = sparse_inputs(Pattern::Full, p, p * count, run);
          Vectors sent;
          for (std::size_t rank = 0; rank < p; ++rank) {
            for (std::size_t i = 0; i < kept[rank].size(); ++i) kept[rank][i] += dense[rank][i];
            sent.push_back(only(kept[rank], largest_places(kept[rank], std::max<std::size_t>(k, 1))));
            for (std::size_t i = 0; i < kept[rank].size(); ++i) kept[rank][i] -= sent[rank][i];
          }
          const std::vector<float> sum = sum_of(sent);
          const Call call = rig.call_of(Collective::ReduceScatter, "sparse_split",
                                        fmt::format("k={}", std::max<std::size_t>(k, 1)), count);
          ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, nullptr, dense, count, 0)));
          for (std::size_t rank = 0; rank < p; ++rank) {
            const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(rank * count);
            const std::vector<float> block(begin, begin + static_cast<std::ptrdiff_t>(count));
            ASSERT_EQ(rig.outputs[rank], block) << size << " count " << count << " run " << run;
          }
        }
      }
    }
  }
}

TEST(SparseShards, AllgatherGivesAllRanksTheSelectionOfEachBlock) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    const auto p = static_cast<std::size_t>(size);
    for (const bool entries : {false, true}) {
      EntriesRig rig(size);
      const Vectors dense = sparse_inputs(Pattern::Uniform, p, 70, 3);
      std::vector<float> all;
      for (const auto& one : dense) {
        const auto largest = only(one, largest_places(one, 5));
        all.insert(all.end(), largest.begin(), largest.end());
      }
      const Call call = rig.call_of(Collective::Allgather, "sparse_allgather", "k=5,feedback=0", 70);
      ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, nullptr, dense, p * 70, entries ? p * 5 : 0)));
      for (std::size_t rank = 0; rank < p; ++rank) {
        if (entries) {
          ASSERT_EQ(rig.results[rank], entries_of(all));
        } else {
          ASSERT_EQ(rig.outputs[rank], all);
        }
      }
    }
  }
}

TEST(SparseShards, ReduceScatterOfEntriesGivesEntriesOfTheBlock) {
  EntriesRig rig(3);
  const Vectors dense = sparse_inputs(Pattern::Uniform, 3, 3 * 40, 3);
  std::vector<Entries> given;
  for (const auto& one : dense) given.push_back(shuffled(one, 2));
  const Call call = rig.call_of(Collective::ReduceScatter, "sparse_split", "density=1,feedback=0", 40);
  ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, &given, {}, 0, 40)));
  const std::vector<float> sum = sum_of(dense);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(rank * 40);
    EXPECT_EQ(rig.results[rank], entries_of(std::vector<float>(begin, begin + 40)));
  }
}

/// Makes calls with entries in and out, by all collectives that have them. It holds the results and the residuals.
struct OfEntries {
  OfEntries(const char* algorithm, Collective collective, Rank size, const RanksOptions& options) : rig(size, options) {
    const auto p = static_cast<std::size_t>(size);
    const std::size_t blocks = collective == Collective::ReduceScatter ? p : 1;
    for (unsigned run = 0; run < 4; ++run) {
      const Vectors dense = sparse_inputs(Pattern::Uniform, p, blocks * 80, run);
      std::vector<Entries> given;
      for (const auto& one : dense) given.push_back(shuffled(one, run));
      if (std::string_view(algorithm) == "ok_topk") rig.method = "ok_topk";
      const bool keeps = collective == Collective::Allreduce;
      const Call call = rig.call_of(collective, algorithm, keeps ? "k=10" : "k=10,feedback=0", 80);
      expect_ok(rig.run(call, run % 2 ? &given : nullptr, dense, p * 80, run / 2 ? p * 80 : 0));
      results.push_back(rig.results);
      outputs.push_back(rig.outputs);
    }
  }

  EntriesRig rig;
  std::vector<std::vector<Entries>> results;
  std::vector<Vectors> outputs;
};

TEST(SparseSteps, TouchOnlyWhatTheyDeclareOfListsToo) {
  const std::pair<const char*, Collective> all[] = {{"sparse_allgather", Collective::Allreduce},
                                                    {"sparse_split", Collective::Allreduce},
                                                    {"sparse_ring", Collective::Allreduce},
                                                    {"sparse_doubling", Collective::Allreduce},
                                                    {"gtopk", Collective::Allreduce},
                                                    {"ok_topk", Collective::Allreduce},
                                                    {"sparse_split", Collective::ReduceScatter},
                                                    {"sparse_allgather", Collective::Allgather}};
  for (const auto& [algorithm, collective] : all) {
    for (Rank size : {1, 2, 4, 5}) {
      RanksOptions options{.executor = quick_executor()};
      const OfEntries free(algorithm, collective, size, options);
      options.executor.compute = guarded_compute;
      const OfEntries guarded(algorithm, collective, size, options);
      ASSERT_EQ(guarded.results, free.results) << algorithm << " on " << size;
      ASSERT_EQ(guarded.outputs, free.outputs) << algorithm << " on " << size;
      for (std::size_t rank = 0; rank < free.rig.states.size(); ++rank) {
        ASSERT_EQ(*guarded.rig.states[rank].save(), *free.rig.states[rank].save()) << algorithm << " on " << size;
      }
    }
  }
}

TEST(SparseEntriesRefusals, WithoutAMethodThatTakesThemTheyAreRefused) {
  EntriesRig rig(2);
  const std::vector<Entries> given(2, {{1}, {2}});
  for (const char* algorithm : {"ring", ""}) {
    Call call{.collective = Collective::Allreduce, .count = 5};
    call.options.algorithm = algorithm;
    for (const Status& end : rig.run(call, &given, {}, 5, 0)) {
      EXPECT_EQ(end.code(), Code::InvalidArgument);
      EXPECT_NE(end.message().find("topk"), std::string_view::npos) << end.to_string();
    }
  }
}

TEST(SparseEntriesRefusals, OneRankThatAsksForEntriesWhereOthersDoNotIsToldToAll) {
  EntriesRig rig(2);
  Vectors dense(2, std::vector<float>(10, 1)), outputs(2, std::vector<float>(10));
  std::vector<std::uint32_t> places(10);
  std::size_t entries = 0;
  Call call = rig.call_of(Collective::Allreduce, "sparse_split", "density=1,feedback=0", 10);
  std::vector<Call> calls;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    call.input = dense[rank].data();
    call.output = outputs[rank].data();
    if (rank == 1) call.output_entries = {places.data(), 10, &entries};
    calls.push_back(call);
  }
  for (const Status& end : rig.ranks.run(calls)) EXPECT_EQ(end.code(), Code::Mismatch) << end.to_string();
}

}  // namespace
}  // namespace lacuna::test
