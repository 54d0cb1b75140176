#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/phases/sparse.hpp"
#include "kernels/backend.hpp"
#include "runtime/graph/graphs.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/method/method.hpp"
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
      OkExpected expected = rig.expected(inputs);
      rig.sent();
      ASSERT_EQ(rig.run_next(inputs), "");
      rig.finish(expected);
      ASSERT_EQ(rig.sent(), rig.sent_by_definition(expected, exactly, cut_anew, false))
          << "P=" << size << " run " << run;
    }
  }
}

struct Words {
  std::uint64_t most_received = 0, most_sent = 0;
};
/// Counts only words of entries, without headers and offers.
Words words_of(OkRig& rig, const Vectors& inputs) {
  const std::size_t p = rig.states.size();
  std::vector<std::uint64_t> received;
  for (Rank rank = 0; rank < rig.ranks.size(); ++rank) received.push_back(rig.ranks.counters(rank).payload_received);
  rig.sent();
  EXPECT_EQ(rig.run_next(inputs), "");
  const auto sent = rig.sent();
  const std::uint64_t beside = (p - 1) * (2 * 16 + 4 + 4 * rig.steps().size());
  Words words;
  for (std::size_t rank = 0; rank < p; ++rank) {
    const std::uint64_t got = rig.ranks.counters(static_cast<Rank>(rank)).payload_received - received[rank];
    words.most_received = std::max(words.most_received, (got - beside) / 4);
    words.most_sent = std::max(words.most_sent, (sent[rank] - beside) / 4);
  }
  return words;
}

/// The data have the same magnitudes everywhere, so that they are as balanced as they can be. A rank gets at most
/// 6k(P-1)/P words, and about 4k(P-1)/P.
TEST(OkTraffic, OfBalancedDataIsWithinThePapersBoundBetweenExactSelections) {
  constexpr std::size_t k = 400, count = 40000;
  for (Rank size : {2, 4, 8, 16}) {
    OkRig rig(size, k, 100, "feedback=0,format=coordinates");
    ASSERT_EQ(rig.run_next(gradients(rig.states.size(), count, 1)), "");
    const double share = static_cast<double>(size - 1) / size;
    for (unsigned run = 2; run < 6; ++run) {
      const Vectors inputs = gradients(rig.states.size(), count, run);
      const OkExpected expected = rig.expected(inputs);
      std::size_t most = 0;
      for (const auto& places : expected.selected) most = std::max(most, places.size());
      const Words words = words_of(rig, inputs);
      const double total = static_cast<double>(places_of(expected.result).size());
      EXPECT_LE(static_cast<double>(words.most_received), 6 * static_cast<double>(most) * share) << "P=" << size;
      EXPECT_LE(static_cast<double>(words.most_sent), 6 * static_cast<double>(most) * share) << "P=" << size;
      EXPECT_NEAR(static_cast<double>(words.most_received) / (2 * (static_cast<double>(most) + total) * share), 1, 0.25)
          << "P=" << size;
    }
  }
}

/// A rank receives what arrives in the split, and the result once, or twice if it is balanced. This holds whatever the
/// data are.
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
          if (rank != owner) came += within(expected.selected[rank], begins, owner);
        }
        most = std::max(most, came);
      }
      const std::size_t headers = rig.states.size() * 16 / 4;  // headers of the shares
      EXPECT_LE(words_of(rig, inputs).most_received, 2 * most + 4 * places_of(expected.result).size() + headers);
    }
  }
}

/// Ranges come from the partition of an earlier call. What is selected now is spread as evenly as then.
TEST(OkTraffic, RangesStayBalancedForDataThatStayAlikeAlsoWhereRanksDiffer) {
  constexpr std::size_t count = 1 << 17;
  for (Pattern pattern : {Pattern::Clustered, Pattern::Bimodal, Pattern::Uniform}) {
    OkRig rig(8, count / 16, 100, "feedback=0");
    std::vector<std::int64_t> partition;
    for (unsigned run = 1; run < 4; ++run) {
      const Vectors inputs = sparse_inputs(pattern, 8, count, run);
      ASSERT_EQ(rig.run_next(inputs), "");
      if (run == 1) partition = rig.partition(0);
      EXPECT_EQ(rig.partition(7), partition) << "cut once in tau runs";
      const std::vector<std::size_t> begins = rig.ranges(count);
      double most = 0, all = 0;
      for (std::size_t owner = 0; owner < 8; ++owner) {
        double load = 0;
        for (const auto& input : inputs) {
          load += static_cast<double>(within(places_of(input), begins, owner));
        }
        most = std::max(most, load);
        all += load;
      }
      EXPECT_LE(8 * most / all, 1.1) << static_cast<int>(pattern) << " run " << run;
    }
  }
}

TEST(OkTraffic, OtherNumbersOfRanksGoOnByAPartitionUntilItIsMadeAnew) {
  constexpr std::size_t k = 400, count = 4000;
  for (Rank size : {1, 3, 5, 12}) {
    OkRig before(8, k, 100), rig(size, k, 100, "format=coordinates");
    ASSERT_EQ(before.run_next(sparse_inputs(Pattern::Clustered, 8, count, 1)), "");
    for (MethodState& state : rig.states) {
      state.runs = 1;
      state.arrays.push_back(*before.states[0].find("partition"));
    }
    const Vectors inputs = sparse_inputs(Pattern::Clustered, rig.states.size(), count, 2);
    const OkExpected expected = rig.expected(inputs);
    rig.sent();
    ASSERT_EQ(rig.run_as_expected(inputs), "") << "P=" << size;
    EXPECT_EQ(rig.sent(), rig.sent_by_definition(expected, false, false, false)) << "P=" << size;
    EXPECT_EQ(rig.uneven_ranges(expected), "") << "P=" << size << ": they are alike";
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

/// Returns the structure of a run without an exact selection, or of the part that follows it.
Structure structure_of(Rank size, const std::string& options, std::optional<double> largest = {}) {
  constexpr std::size_t count = 100000;
  MethodState state;
  state.runs = 5;
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.algorithm = "ok_topk";
  call.options.state = &state;
  call.options.method = *method_options("ok_topk:k=1000," + options);
  state.array("partition", Dtype::I64, 64, false);
  const Algorithm& program = **select_algorithm(call, size);
  const Hosts hosts = size;
  Plan plan;
  const PlanRequest request{call, program, hosts, 1 << 18};
  make_plan(request, plan);
  if (!largest) return plan.parts.front().structure;
  const std::uint64_t values[] = {1000, static_cast<std::uint64_t>(*largest)};
  const auto next = ok_topk_method.follow({request, plan.parts.front(), 1, values});
  EXPECT_TRUE(next);
  return next ? next->structure : Structure();
}

Graphs graphs_by(const Structure& structure, Rank size) {
  return *graphs_of(*ok_topk_method.algorithms.front().algorithm, size, {.structure = structure});
}

TEST(OkTraffic, GraphsOfAllPartsOfARunFitTogether) {
  for (Rank size = 1; size <= 16; ++size) {
    for (bool in_place : {false, true}) {
      std::vector<Structure> all = {structure_of(size, "tau_prime=1"), structure_of(size, "bucket=2,momentum=0.5"),
                                    structure_of(size, "trigger=1", 1.0)};
      if (size > 1) all.push_back(structure_of(size, "trigger=1", 1000.0));
      for (Structure structure : all) {
        structure.in_place = in_place;
        const Status fits = verify(graphs_by(structure, size).all());
        EXPECT_TRUE(fits) << "P=" << size << ": " << fits.to_string();
      }
    }
  }
}

/// Memory holds lists of what ranks have selected, of the sums of a range, however they lie, and of the result, and
/// tables.
TEST(OkTraffic, MemoryIsAFewTimesTheEntriesOfAllRanks) {
  constexpr std::size_t count = 1 << 20, k = 1000;
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.algorithm = "ok_topk";
  call.options.state = &state;
  call.options.method = *method_options("ok_topk:k=1000,trigger=1");
  for (Rank size : {2, 4, 8, 16}) {
    const Algorithm& program = **select_algorithm(call, size);
    Plan plan;
    make_plan({call, program, Hosts(size), 1 << 18}, plan);
    PartPlan part = plan.parts.front();
    const sparse::Arguments arguments{.wanted = k, .room = k + k / 3};
    part.arguments = arguments;
    for (std::optional<double> largest : {std::optional<double>(), std::optional<double>(1000)}) {
      part.structure = structure_of(size, "trigger=1", largest);
      ok::Form form = ok::form_of(part);
      form.bins = 1024;
      part.structure.parameters = form;
      const PartView view{.call = call, .plan = plan, .part = part, .size = size, .position = 1, .count = count};
      const Graphs graphs = graphs_by(part.structure, size);
      std::size_t bytes = 0;
      for (const BufferInfo& info : graphs.at(1).tables().buffers) {
        const bool own = info.role == Role::Scratch || info.role == Role::Run;
        if (own) bytes += info.capacity(view) * size_of(info.element.value_or(Dtype::F32));
      }
      const std::size_t ranks = static_cast<std::size_t>(size), tables = 3 * ranks * (count / 4096 * 4 + 100);
      const std::size_t windows = 3 * (4 * kernels::Backend::merge_places + kernels::Backend::workspace_bytes());
      EXPECT_LE(bytes, 8 * arguments.room * (4 * ranks + 12) + tables + windows) << "P=" << size;
    }
  }
}

/// The graphs are the same as those of 8 ranks: each rank sends P-1 messages in each exchange, whatever P is.
TEST(OkTraffic, StepsAndMessagesOfManyRanks) {
  for (Rank size : {16, 64, 256}) {
    const auto messages = [&](const Structure& structure) {
      const Graphs graphs = graphs_by(structure, size);
      const auto& steps = graphs.at(size / 2).steps();
      return std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.sends(); });
    };
    EXPECT_EQ(messages(structure_of(size, "tau_prime=1")), 2 * (size - 1));
    if (size > 64) continue;  // larger graphs take seconds
    EXPECT_EQ(messages(structure_of(size, "trigger=4")), 2 * (size - 1));
    EXPECT_EQ(messages(structure_of(size, "trigger=4", 1.0)), size - 1);
    EXPECT_EQ(messages(structure_of(size, "trigger=4", 1000.0)), 2 * (size - 1));
  }
}

/// In round d each rank sends to the rank d after it. Never more messages are on their way than the bucket says: a send
/// follows the send that is that many rounds before it.
TEST(OkTraffic, TheSplitGoesRoundInTurnsThatMeetNowhereAndNoMoreAtATimeThanTheBucket) {
  for (Rank size : {2, 5, 9, 16}) {
    for (int bucket : {1, 3, 4, 255}) {
      const Graphs graphs = graphs_by(structure_of(size, fmt::format("bucket={}", bucket)), size);
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
