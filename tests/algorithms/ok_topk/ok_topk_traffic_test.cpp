#include "runtime/graph/graphs.hpp"
#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"

// What ok_topk sends, by its definition, and the bounds of its paper.
namespace lacuna::test {
namespace {

TEST(OkTraffic, IsTheSelectionsSizesBlocksAndHistogramsOfEachRun) {
  for (Rank size : {1, 2, 3, 4, 5, 8, 9}) {
    OkRig rig(size, 40, 3, "tau=2,format=coordinates");
    for (int run = 0; run < 7; ++run) {
      const Vectors inputs = gradients(rig.states.size(), 2000, static_cast<unsigned>(run));
      const bool exactly = rig.reevaluates(), cut_anew = rig.repartitions();
      const OkExpected expected = rig.expected(inputs);
      rig.sent();
      ASSERT_EQ(rig.run_next(inputs), "");
      ASSERT_EQ(rig.sent(), rig.sent_by_definition(expected, exactly, cut_anew, !exactly && size > 4, false))
          << "P=" << size << " run " << run;
    }
  }
}

struct Words {
  std::uint64_t most_received = 0, most_sent = 0;
};
/// Of entries only: without headers and sizes.
Words words_of(OkRig& rig, const Vectors& inputs) {
  const std::size_t p = rig.states.size();
  std::vector<std::uint64_t> received;
  for (Rank rank = 0; rank < rig.ranks.size(); ++rank) received.push_back(rig.ranks.counters(rank).payload_received);
  rig.sent();
  EXPECT_EQ(rig.run_next(inputs), "");
  const auto sent = rig.sent();
  const std::uint64_t beside = (p - 1) * (2 * 16 + (p > 4 ? 8 : 0));
  Words words;
  for (std::size_t rank = 0; rank < p; ++rank) {
    const std::uint64_t got = rig.ranks.counters(static_cast<Rank>(rank)).payload_received - received[rank];
    words.most_received = std::max(words.most_received, (got - beside) / 4);
    words.most_sent = std::max(words.most_sent, (sent[rank] - beside) / 4);
  }
  return words;
}

/// The same magnitudes everywhere: as balanced as it can be. 6k(P-1)/P at most, and about 4k(P-1)/P.
TEST(OkTraffic, OfBalancedDataIsWithinThePapersBoundBetweenExactSelections) {
  constexpr std::size_t k = 400, count = 40000;
  for (Rank size : {2, 4, 8, 16}) {
    OkRig rig(size, k, 100, "feedback=0,gain=0,format=coordinates");
    ASSERT_EQ(rig.run_next(gradients(rig.states.size(), count, 1)), "");
    const double share = static_cast<double>(size - 1) / size;
    for (unsigned run = 2; run < 6; ++run) {
      const Vectors inputs = gradients(rig.states.size(), count, run);
      const OkExpected expected = rig.expected(inputs);
      std::size_t most = 0;
      for (const auto& places : expected.selected) most = std::max(most, places.size());
      const Words words = words_of(rig, inputs);
      const double total = static_cast<double>(OkRig::places_of(expected.result).size());
      EXPECT_LE(static_cast<double>(words.most_received), 6 * static_cast<double>(most) * share) << "P=" << size;
      EXPECT_LE(static_cast<double>(words.most_sent), 6 * static_cast<double>(most) * share) << "P=" << size;
      EXPECT_NEAR(static_cast<double>(words.most_received) / (2 * (static_cast<double>(most) + total) * share), 1, 0.25)
          << "P=" << size;
    }
  }
}

/// Whatever the data: what arrives in the split, and the result once or, balanced, twice.
TEST(OkTraffic, ReceivesTwoWordsForEachEntryOfTheSplitAndOfTheResult) {
  for (Rank size : {5, 8}) {
    for (Pattern pattern : {Pattern::Clustered, Pattern::Bimodal, Pattern::OneRank, Pattern::Uniform}) {
      OkRig rig(size, 300, 100, "feedback=0,format=coordinates,trigger=1");
      ASSERT_EQ(rig.run_next(sparse_inputs(pattern, rig.states.size(), 3000, 1)), "");
      const Vectors inputs = sparse_inputs(pattern, rig.states.size(), 3000, 2);
      const OkExpected expected = rig.expected(inputs);
      const std::vector<std::size_t> begins = rig.ranges(3000);
      std::size_t most = 0;
      for (std::size_t owner = 0; owner < rig.states.size(); ++owner) {
        std::size_t came = 0;
        for (std::size_t rank = 0; rank < rig.states.size(); ++rank) {
          if (rank != owner) came += OkRig::within(expected.selected[rank], begins, owner);
        }
        most = std::max(most, came);
      }
      const std::size_t headers = rig.states.size() * 16 / 4;  // of the shares
      EXPECT_LE(words_of(rig, inputs).most_received, 2 * most + 4 * OkRig::places_of(expected.result).size() + headers);
    }
  }
}

/// By the histogram of earlier calls: what is selected now is spread as evenly as then.
TEST(OkTraffic, RangesStayBalancedForDataThatStayAlikeAlsoWhereRanksDiffer) {
  constexpr std::size_t count = 1 << 17;
  for (Pattern pattern : {Pattern::Clustered, Pattern::Bimodal, Pattern::Uniform}) {
    OkRig rig(8, count / 16, 100, "feedback=0,gain=0");
    std::vector<std::int64_t> bins;
    for (unsigned run = 1; run < 4; ++run) {
      const Vectors inputs = sparse_inputs(pattern, 8, count, run);
      ASSERT_EQ(rig.run_next(inputs), "");
      if (run == 1) bins = rig.kept_histogram(0);
      EXPECT_EQ(rig.kept_histogram(7), bins) << "cut once in tau runs";
      const std::vector<std::size_t> begins = rig.ranges(count);
      double most = 0, all = 0;
      for (std::size_t owner = 0; owner < 8; ++owner) {
        double load = 0;
        for (const auto& input : inputs) {
          load += static_cast<double>(OkRig::within(OkRig::places_of(input), begins, owner));
        }
        most = std::max(most, load);
        all += load;
      }
      EXPECT_LE(8 * most / all, 1.1) << static_cast<int>(pattern) << " run " << run;
    }
  }
}

/// Does `later` start only after `earlier` has ended?
bool follows(const Graph& graph, StepId later, StepId earlier) {
  std::vector<StepId> open = {earlier};
  while (!open.empty()) {
    const StepId step = open.back();
    open.pop_back();
    if (step == later) return true;
    for (StepId next : graph.successors(step)) {
      if (next <= later) open.push_back(next);
    }
  }
  return false;
}

Graphs graphs_of_stage(Rank size, const std::string& options, std::uint64_t runs, double global) {
  Call call{.collective = Collective::Allreduce, .count = 100000};
  MethodState state;
  state.runs = runs;
  const StateArray& threshold = state.array("global_threshold", Dtype::F64, 1, false);
  std::memcpy(const_cast<std::byte*>(threshold.bytes.data()), &global, sizeof(global));
  state.array("histogram", Dtype::I64, 64, false);
  call.options.algorithm = "ok_topk";
  call.options.state = &state;
  call.options.method = *method_options("ok_topk:" + options);
  const Algorithm& program = **select_algorithm(call, size);
  Plan plan;
  make_plan({call, program, Hosts(size), 1 << 18}, plan);
  return *graphs_of(program, size, {.structure = plan.parts.front().structure});
}

/// In round d to the rank d after the own one, and never more on their way than the bucket: a send follows the one that
/// is as many rounds before it.
TEST(OkTraffic, TheSplitGoesRoundInTurnsThatMeetNowhereAndNoMoreAtATimeThanTheBucket) {
  for (Rank size : {2, 5, 9, 16}) {
    for (int bucket : {1, 3, 4, 255}) {
      const Graphs graphs = graphs_of_stage(size, fmt::format("k=1000,bucket={},trigger=1e9", bucket), 5, 1.0);
      for (Rank position = 0; position < size; ++position) {
        const Graph& graph = graphs.at(position);
        std::vector<StepId> sends;
        for (std::size_t id = 0; id < graph.steps().size(); ++id) {
          if (graph.steps()[id].sends()) sends.push_back(static_cast<StepId>(id));
        }
        ASSERT_EQ(sends.size(), static_cast<std::size_t>(2 * (size - 1)));
        for (std::size_t round = 0; round < sends.size(); ++round) {
          EXPECT_EQ(graph.steps()[sends[round]].peer,
                    static_cast<Rank>(round % static_cast<std::size_t>(size - 1)) + 1);
        }
        for (std::size_t round = 0; round < static_cast<std::size_t>(size - 1); ++round) {
          const std::size_t first = round + static_cast<std::size_t>(bucket);
          if (first >= static_cast<std::size_t>(size - 1)) break;
          EXPECT_TRUE(follows(graph, sends[first], sends[round]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace lacuna::test
