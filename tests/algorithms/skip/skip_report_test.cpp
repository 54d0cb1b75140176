#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <tuple>

#include "algorithms/registry/gaps.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skipping.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/values/report.hpp"
#include "tests/support/contributions.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t chunk_bytes = 256;

/// Makes calls of one kind with the same data, again and again.
class Job {
 public:
  Job(Rank size, std::size_t count, const std::vector<Rank>& hosts = {}, Collective collective = Collective::Allreduce)
      : ranks(size, options(hosts)), made_{.collective = collective, .count = count} {
    inputs.assign(at(size), std::vector<float>(input_length(made_, size), 1));
    outputs.assign(at(size), std::vector<float>(output_length(made_, size)));
  }

  static RanksOptions options(const std::vector<Rank>& hosts) {
    RanksOptions given{.network = {}, .executor = quick_executor(), .hosts = hosts};
    given.executor.chunk_bytes = chunk_bytes;
    return given;
  }

  Call call(Rank rank, std::string_view algorithm, const Skip& skip) {
    Call made = made_;
    made.input = inputs[at(rank)].data();
    made.output = outputs[at(rank)].data();
    made.options.algorithm = algorithm;
    made.options.method = lacuna::skip(skip);
    return made;
  }

  /// Returns the reports by rank. `traffic` gets what the transport has counted.
  std::vector<Report> run(const std::vector<Call>& calls) {
    std::vector<Counters> before;
    for (Rank rank = 0; rank < ranks.size(); ++rank) before.push_back(ranks.counters(rank));
    std::vector<runtime::Run*> runs;
    for (Rank rank = 0; rank < ranks.size(); ++rank) runs.push_back(*ranks.post(rank, calls[at(rank)]));
    EXPECT_TRUE(ranks.sweep_until([&] {
      bool all = true;
      for (Rank rank = 0; rank < ranks.size(); ++rank) all = ranks.communicator(rank).test(*runs[at(rank)]) && all;
      return all;
    }));
    std::vector<Report> reports;
    traffic.clear();
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      reports.push_back(ranks.communicator(rank).report(*runs[at(rank)]));
      ranks.communicator(rank).release(*runs[at(rank)]);
      const Counters now = ranks.counters(rank);
      traffic.push_back({.payload_sent = now.payload_sent - before[at(rank)].payload_sent,
                         .payload_received = now.payload_received - before[at(rank)].payload_received});
    }
    return reports;
  }
  std::vector<Report> run(std::string_view algorithm, const Skip& skip) {
    std::vector<Call> calls;
    for (Rank rank = 0; rank < ranks.size(); ++rank) calls.push_back(call(rank, algorithm, skip));
    return run(calls);
  }

  static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

  Ranks ranks;
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<Counters> traffic;

 private:
  Call made_;
};

std::vector<const Algorithm*> skipping_allreduces() {
  std::vector<const Algorithm*> all;
  for (const Algorithm* one : all_algorithms()) {
    if (one->collective == Collective::Allreduce && skipping_of(*one)) all.push_back(one);
  }
  return all;
}

/// Returns hosts with several ranks each if the algorithm is by_hosts.
std::vector<Rank> hosts_for(const Algorithm& algorithm, Rank size) {
  std::vector<Rank> hosts;
  for (Rank rank = 0; algorithm.by_hosts && rank < size; ++rank) hosts.push_back(rank / 2);
  return hosts;
}

class Reports : public testing::TestWithParam<const Algorithm*> {
 protected:
  const Algorithm& algorithm = *GetParam();
};

TEST_P(Reports, BytesAreTheTransportsOfThisCallAndOfTheDenseOne) {
  for (Rank size : {1, 2, 3, 4, 5, 7, 8, 12}) {
    const std::vector<Rank> hosts = hosts_for(algorithm, size);
    const int most = skipping_of(algorithm)->most(hosts.empty() ? Hosts(size) : Hosts(hosts));
    for (std::size_t count : {0u, 1u, 7u, 101u, 1000u, 2311u}) {
      Job job(size, count, hosts);
      job.run(algorithm.name, {});
      const std::vector<Counters> dense = job.traffic;
      for (int steps = 1; steps <= most; ++steps) {
        for (SkipMode mode : {SkipMode::Static, SkipMode::Random}) {
          const auto reports = job.run(algorithm.name, {.steps = steps, .mode = mode});
          for (std::size_t rank = 0; rank < reports.size(); ++rank) {
            const Report& report = reports[rank];
            ASSERT_EQ(steps_of(report), steps);
            ASSERT_EQ(report.sent, job.traffic[rank].payload_sent) << size << " " << count << " " << steps;
            ASSERT_EQ(report.received, job.traffic[rank].payload_received) << size << " " << count << " " << steps;
            ASSERT_EQ(report.dense_sent, dense[rank].payload_sent) << size << " " << count;
            ASSERT_EQ(report.dense_received, dense[rank].payload_received) << size << " " << count;
            ASSERT_EQ(static_cast<std::int64_t>(dense[rank].payload_sent) - report.bytes_saved(),
                      static_cast<std::int64_t>(job.traffic[rank].payload_sent));
          }
        }
      }
    }
  }
}

TEST_P(Reports, ContributorsAreThoseOfTheMask) {
  for (Rank size : {2, 3, 5, 6, 8}) {
    const std::vector<Rank> names = hosts_for(algorithm, size);
    const Hosts hosts = names.empty() ? Hosts(size) : Hosts(names);
    for (std::size_t count : {1u, 7u, 300u}) {
      Job job(size, count, names);
      for (int steps = 1; steps <= skipping_of(algorithm)->most(hosts); ++steps) {
        const Call call = job.call(0, algorithm.name, {.steps = steps});
        const Gaps mask({call, algorithm, hosts, chunk_bytes}, {});
        const auto there = test::contributions(mask, 0, size, count);
        const Report report = job.run(algorithm.name, {.steps = steps})[0];
        std::uint64_t contributions = 0;
        for (const PartReport& part : report.parts) {
          Rank fewest = size;
          std::uint64_t sum = 0;
          for (std::size_t i = part.offset; i < part.offset + part.count; ++i) {
            fewest = std::min(fewest, test::contributors(there, i));
            sum += static_cast<std::uint64_t>(test::contributors(there, i));
          }
          contributions += sum;
          EXPECT_EQ(part.outcome, static_cast<int>(SkipOutcome::Skipped));
          EXPECT_EQ(part.fewest, fewest) << size << " " << count << " " << steps;
          EXPECT_DOUBLE_EQ(part.mean, static_cast<double>(sum) / static_cast<double>(part.count));
        }
        EXPECT_EQ(report.contributions, contributions);
        EXPECT_EQ(report.dense_contributions, count * static_cast<std::uint64_t>(size));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reports, testing::ValuesIn(skipping_allreduces()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST(Report, RoundsAreThePublishedOnes) {
  for (Rank size : {2, 4, 8, 16}) {
    Job job(size, 64);
    const int log2 = std::countr_zero(static_cast<unsigned>(size));
    for (int steps = 1; steps < size; ++steps) {
      const Report ring = job.run("skip_ring", {.steps = steps})[0];
      EXPECT_EQ(ring.dense_rounds, 2 * (size - 1));
      EXPECT_EQ(ring.rounds_saved(), steps);
      if (steps > log2) continue;
      const Report halving = job.run("skip_halving_doubling", {.steps = steps})[0];
      EXPECT_EQ(halving.dense_rounds, 2 * log2);
      EXPECT_EQ(halving.rounds_saved(), steps);
    }
  }
}

TEST(Report, RoundsOfGridsAndTreesAreThoseOfTheirLines) {
  struct Grid {
    Rank rows, columns;
  };
  for (const auto& [rows, columns] : {Grid{1, 5}, {2, 2}, {2, 3}, {3, 3}, {2, 5}, {4, 4}}) {
    Job job(rows * columns, 240);
    for (int steps = 1; steps <= rows + columns - 2; ++steps) {
      const Report torus = job.run("skip_torus", {.steps = steps})[0];
      EXPECT_EQ(torus.dense_rounds, 2 * (rows + columns - 2));
      EXPECT_EQ(torus.rounds_saved(), steps);
    }
    std::vector<Rank> hosts;
    for (Rank rank = 0; rank < rows * columns; ++rank) hosts.push_back(rank / columns);
    Job hosted(rows * columns, 240, hosts);
    for (int steps = 1; steps < rows; ++steps) {
      const Report levels = hosted.run("skip_two_level", {.steps = steps})[0];
      EXPECT_EQ(levels.dense_rounds, 2 * (rows - 1) + 2);  // between hosts and inside them
      EXPECT_EQ(levels.rounds_saved(), steps);
    }
  }
  for (Rank size : {3, 7, 15, 31}) {  // whole trees of 2^(h+1) - 1
    Job job(size, 240);
    const int height = std::bit_width(static_cast<unsigned>(size)) - 1;
    for (int steps = 1; steps <= height; ++steps) {
      const Report trees = job.run("skip_double_tree", {.steps = steps})[0];
      EXPECT_EQ(trees.dense_rounds, 2 * height);
      EXPECT_EQ(trees.rounds_saved(), steps);
    }
  }
}

TEST(Report, OfADenseCallIsEmpty) {
  Job job(3, 10);
  for (const char* algorithm : {"ring", "skip_ring"}) {
    const Report report = job.run(algorithm, {})[0];
    EXPECT_TRUE(report.parts.empty());
    EXPECT_EQ(report.dense_sent, 0u);
    EXPECT_EQ(report.left_out(), 0);
  }
}

TEST(Report, ElementsThatARankLacksAreCounted) {
  Job job(4, 10);
  const auto reports = job.run("skip_ring", {.steps = 1, .incomplete = true, .gather_steps = 2});
  std::uint64_t lacking = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    lacking += reports[rank].lacking;
    EXPECT_EQ(reports[rank].sent, job.traffic[rank].payload_sent);
    EXPECT_EQ(reports[rank].rounds_saved(), 3);
  }
  EXPECT_EQ(lacking, 20u) << "two of four pieces on each rank";
  Job gathering(4, 10, {}, Collective::Allgather);
  const auto kept = gathering.run("skip_ring", {.steps = 2, .incomplete = true, .keep = true});
  EXPECT_EQ(kept[1].lacking, 20u) << "also where they keep what they had";
}

TEST(Report, OfBlocksCountsTheTransportsBytesToo) {
  for (Collective collective : {Collective::ReduceScatter, Collective::Allgather}) {
    for (Rank size : {2, 3, 8}) {
      Job job(size, 300, {}, collective);
      const bool gathers = collective == Collective::Allgather;
      job.run("skip_ring", {});
      const std::vector<Counters> dense = job.traffic;
      for (int steps = 1; steps < size; ++steps) {
        const auto reports = job.run("skip_ring", {.steps = steps, .mode = SkipMode::Shuffled, .incomplete = gathers});
        for (std::size_t rank = 0; rank < reports.size(); ++rank) {
          EXPECT_EQ(reports[rank].sent, job.traffic[rank].payload_sent);
          EXPECT_EQ(reports[rank].dense_sent, dense[rank].payload_sent);
          EXPECT_EQ(reports[rank].rounds_saved(), steps);
          EXPECT_EQ(reports[rank].lacking, gathers ? 300u * static_cast<unsigned>(steps) : 0u);
          EXPECT_DOUBLE_EQ(reports[rank].left_out(), gathers ? 0 : static_cast<double>(steps) / size);
        }
      }
    }
  }
}

TEST(Report, SegmentsTellWhatBecameOfThem) {
  Job job(2, 1000);
  const std::vector<SkipSegment> segments = {{0, 10, SkipPolicy::Skip},
                                             {10, 290, SkipPolicy::Never},
                                             {300, 300, SkipPolicy::Automatic},
                                             {600, 10, SkipPolicy::Never},
                                             {610, 390, SkipPolicy::Skip}};
  std::array<MethodState, 2> states;
  const auto run = [&] {
    std::vector<Call> calls;
    for (Rank rank = 0; rank < 2; ++rank) {
      calls.push_back(job.call(
          rank, "skip_ring",
          {.steps = 1, .small = 200, .importance_every = 2, .importance_threshold = 0.2, .segments = segments}));
      calls.back().options.state = &states[static_cast<std::size_t>(rank)];
    }
    const Report report = job.run(calls)[0];
    std::vector<std::tuple<std::size_t, std::string, int>> told;  // neighbours that are alike count once
    std::size_t elements = 0;
    for (const PartReport& part : report.parts) {
      const std::tuple now(part.offset, std::string(skip_method.outcomes[static_cast<std::size_t>(part.outcome)]),
                           part.fewest);
      const bool goes_on = !told.empty() && std::get<1>(told.back()) == std::get<1>(now) && part.offset > 0;
      if (!goes_on) told.push_back(now);
      elements += part.count;
    }
    EXPECT_EQ(elements, 1000u);
    EXPECT_EQ(report.contributions + 390 + (std::get<1>(told[1]) == "skipped" ? 300 : 0), 2000u);
    return told;
  };
  using Told = std::vector<std::tuple<std::size_t, std::string, int>>;
  EXPECT_EQ(run(), (Told{{0, "dense", 2}, {300, "measured", 2}, {610, "skipped", 1}, {600, "dense", 2}}));
  const auto counted = [&](const Measure& measure) {
    return job.ranks.executor(0).job_counters().methods()[0].measures.value(measure);
  };
  const double measured = counted(skip_measure::measured_parts);
  EXPECT_EQ(counted(skip_measure::protected_parts), 0);
  EXPECT_EQ(run(), (Told{{0, "dense", 2}, {300, "protected", 2}, {610, "skipped", 1}, {600, "dense", 2}}));
  EXPECT_GT(measured, 0);
  EXPECT_EQ(counted(skip_measure::measured_parts), measured);
  EXPECT_EQ(counted(skip_measure::protected_parts), measured) << "as many chunks as were measured";
}

/// Checks what one rank gets from a call that asks for skipping, and what its report says.
void expect_dense_alone(const Algorithm& algorithm, Skip asked, MethodState* state) {
  const std::string text(algorithm.name);
  Job job(1, 100, {}, algorithm.collective);
  for (std::size_t i = 0; i < 100; ++i) job.inputs[0][i] = static_cast<float>(i);
  Call call = job.call(0, algorithm.name, asked);
  call.options.state = state;
  const Report report = job.run({call})[0];
  EXPECT_EQ(job.outputs[0], job.inputs[0]) << text;
  EXPECT_EQ(report.method, &skip_method) << text << ": there is a report";
  EXPECT_EQ(steps_of(report), 0) << text;
  EXPECT_EQ(report.measures.value(skip_measure::gather_steps), 0) << text;
  EXPECT_EQ(report.left_out(), 0) << text;
  EXPECT_EQ(report.lacking, 0u) << text;
  ASSERT_EQ(report.parts.size(), 1u) << text;
  EXPECT_EQ(report.parts[0].outcome, static_cast<int>(SkipOutcome::Dense)) << text;
}

TEST(Report, OfOneRankSaysThatTheCallWasDenseWhateverItAskedFor) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!skipping_of(*algorithm)) continue;
    const bool gathers = algorithm->collective == Collective::Allgather;
    MethodState state;
    expect_dense_alone(*algorithm, {.steps = 3, .incomplete = gathers}, nullptr);
    expect_dense_alone(*algorithm, {.ratio = 0.5, .incomplete = gathers}, nullptr);
    expect_dense_alone(*algorithm, {.incomplete = gathers, .schedule = {{.from_run = 0, .steps = 2}}}, &state);
    if (!gathers) expect_dense_alone(*algorithm, {.steps = 1, .feedback = true}, &state);
  }
  expect_dense_alone(**select_algorithm({.collective = Collective::Allreduce}, 1, "ring"),
                     {.incomplete = true, .gather_steps = 2}, nullptr);
}

TEST(Report, OfOneRankIsNoneWhereNothingWasAskedFor) {
  Job job(1, 100);
  EXPECT_EQ(job.run("skip_ring", {})[0].method, nullptr);
}

TEST(CostCache, KeepsWhatItWasAskedForLast) {
  runtime::CostCache costs;
  const Algorithm& ring = *all_algorithms()[0];
  const GraphShape shape{.size = 8};
  const runtime::PartCost* first = &costs.get(ring, shape).of(3, 100);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(&costs.get(ring, shape).of(3, 100), first);
  GraphShape other = shape;
  other.position = 5;
  other.structure.in_place = true;
  EXPECT_EQ(&costs.get(ring, other).of(3, 100), first);
  EXPECT_NE(&costs.get(ring, other).of(3, 101), first);
}

}  // namespace
}  // namespace lacuna::test
