#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "algorithms/skip/skipping.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

/// Ranks that reduce a vector each, with a state for each rank.
template <class T = float>
class Job {
 public:
  Job(Rank size, std::size_t count, const std::vector<Rank>& hosts = {})
      : ranks(size, options(hosts)), inputs(at(size), std::vector<T>(count)), outputs(inputs), states(at(size)) {}

  static RanksOptions options(const std::vector<Rank>& hosts) {
    RanksOptions given{.network = {}, .executor = quick_executor(), .hosts = hosts};
    given.executor.chunk_bytes = 512;
    return given;
  }

  /// Fills inputs with whole numbers, whose sums are exact.
  void fill_whole(unsigned seed = 1) {
    std::mt19937 random(seed);
    for (auto& input : inputs) {
      for (T& value : input) value = static_cast<T>(random() % 8 + 1);
    }
  }
  void fill_normal() {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (auto& input : inputs) {
      for (T& value : input) value = static_cast<T>(normal(random));
    }
  }

  Call call(Rank rank, std::string_view algorithm, Skip skip, Reduction reduction = Reduction::Sum) {
    if (in_place) outputs[at(rank)] = inputs[at(rank)];
    Call made{.collective = Collective::Allreduce,
              .input = in_place ? outputs[at(rank)].data() : inputs[at(rank)].data(),
              .output = outputs[at(rank)].data(),
              .count = inputs[at(rank)].size(),
              .dtype = sizeof(T) == 8 ? Dtype::F64 : Dtype::F32,
              .reduction = reduction};
    made.options.algorithm = algorithm;
    made.options.state = &states[at(rank)];
    made.options.method = lacuna::skip(skip);
    return made;
  }
  void run(std::string_view algorithm, const Skip& skip, Reduction reduction = Reduction::Sum) {
    std::vector<Call> calls;
    for (Rank rank = 0; rank < ranks.size(); ++rank) calls.push_back(call(rank, algorithm, skip, reduction));
    for (const Status& status : ranks.run(calls)) ASSERT_TRUE(status) << status.to_string();
  }

  Ranks ranks;
  std::vector<std::vector<T>> inputs, outputs;
  std::vector<MethodState> states;
  bool in_place = false;
};

/// Returns the error of an output at the sampled places, by its definition.
template <class T>
SkipAudit exact_audit(const Job<T>& job, std::size_t samples, Reduction reduction) {
  const std::size_t count = job.inputs[0].size();
  samples = std::min(samples, count);
  double distance = 0, dense_square = 0, square = 0, product = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t place = i * count / samples;
    T sum = 0;
    for (const auto& input : job.inputs) sum += input[place];
    if (reduction == Reduction::Avg) sum /= static_cast<T>(job.inputs.size());
    const double dense = static_cast<double>(sum), result = static_cast<double>(job.outputs[0][place]);
    distance += (result - dense) * (result - dense);
    dense_square += dense * dense;
    square += result * result;
    product += dense * result;
  }
  return {.samples = samples,
          .relative_error = std::sqrt(distance / dense_square),
          .cosine = product / std::sqrt(dense_square * square)};
}

TEST(SkipAudit, OfIidInputsTheErrorIsTheRootOfTheShareLeftOut) {
  for (Rank size : {4, 8}) {
    for (int steps : {1, size / 2, size - 1}) {
      Job job(size, 50'000);
      job.fill_normal();
      const Skip skip{.steps = steps, .mode = SkipMode::Random, .audit = 1, .audit_samples = 8192};
      job.run("skip_ring", skip, Reduction::Avg);
      const SkipAudit& audit = audit_of(job.states[0]);
      EXPECT_EQ(audit.run, 1u);
      EXPECT_EQ(audit.samples, 8192u);
      EXPECT_NEAR(audit.relative_error, std::sqrt(static_cast<double>(steps) / size), 0.03) << size << " " << steps;
      EXPECT_NEAR(audit.cosine, std::sqrt(static_cast<double>(size - steps) / size), 0.03) << size << " " << steps;
    }
  }
}

class SkipAudits : public testing::TestWithParam<const Algorithm*> {};

TEST_P(SkipAudits, TheErrorIsExactlyThatOfTheSampledElements) {
  const auto check = [](Job<>& job, SkipScale scale, Reduction reduction) {
    job.run(GetParam()->name, {.steps = 1, .mode = SkipMode::Random, .scale = scale, .factor = 1.5, .audit = 1},
            reduction);
    const SkipAudit expected = exact_audit(job, 1024, reduction);
    for (const MethodState& state : job.states) {
      ASSERT_EQ(audit_of(state).samples, expected.samples);
      ASSERT_NEAR(audit_of(state).relative_error, expected.relative_error, 1e-12);
      ASSERT_NEAR(audit_of(state).cosine, expected.cosine, 1e-12);
      ASSERT_EQ(audit_of(state).relative_error, audit_of(job.states[0]).relative_error) << "equal on all ranks";
    }
  };
  for (Rank size : {2, 3, 5, 8}) {
    std::vector<Rank> hosts;
    for (Rank rank = 0; GetParam()->by_hosts && rank < size; ++rank) hosts.push_back(rank % 2);
    for (std::size_t count : {1u, 5u, 3001u}) {
      for (bool in_place : {false, true}) {
        Job job(size, count, hosts);
        job.in_place = in_place;
        job.fill_whole(static_cast<unsigned>(count));
        check(job, SkipScale::ZeroFill, Reduction::Sum);
        check(job, SkipScale::ZeroFill, Reduction::Avg);
        check(job, SkipScale::Renormalised, Reduction::Sum);
        check(job, SkipScale::Renormalised, Reduction::Avg);
        check(job, SkipScale::Factor, Reduction::Avg);
      }
    }
  }
}

std::vector<const Algorithm*> skipping_allreduces() {
  std::vector<const Algorithm*> all;
  for (const Algorithm* one : all_algorithms()) {
    if (one->collective == Collective::Allreduce && skipping_of(*one)) all.push_back(one);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, SkipAudits, testing::ValuesIn(skipping_allreduces()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST(SkipAudit, ChangesNoResult) {
  const std::vector<SkipSegment> segments = {
      {0, 700, SkipPolicy::Skip}, {700, 20, SkipPolicy::Never}, {720, 2280, SkipPolicy::Skip}};
  for (bool with_segments : {false, true}) {
    for (bool feedback : {false, true}) {
      Job plain(4, 3000), audited(4, 3000);
      Skip skip{.steps = 2, .mode = SkipMode::Random, .feedback = feedback, .small = 400};
      if (with_segments) skip.segments = segments;
      for (unsigned run = 0; run < 5; ++run) {
        plain.fill_normal();
        audited.fill_normal();
        plain.run("skip_ring", skip);
        Skip with = skip;
        with.audit = 2;
        with.audit_samples = 333;
        audited.run("skip_ring", with);
        ASSERT_EQ(plain.outputs, audited.outputs) << run;
        ASSERT_EQ(residual_of(plain.states[1]), residual_of(audited.states[1])) << run;
        ASSERT_EQ(audit_of(plain.states[0]).run, 0u);
        ASSERT_EQ(audit_of(audited.states[3]).run, (run + 1) / 2 * 2);
      }
    }
  }
}

TEST(SkipAudit, ComesEveryKthRunAlsoAfterAResume) {
  const Skip skip{.steps = 1, .mode = SkipMode::Shuffled, .audit = 3, .audit_samples = 100};
  Job through(3, 500), before(3, 500);
  std::vector<SkipAudit> audits;
  for (unsigned run = 0; run < 7; ++run) {
    through.fill_whole(run);
    through.run("skip_ring", skip);
    audits.push_back(audit_of(through.states[0]));
    EXPECT_EQ(audits.back().run, (run + 1) / 3 * 3);
  }
  for (unsigned run = 0; run < 4; ++run) {
    before.fill_whole(run);
    before.run("skip_ring", skip);
  }
  Job after(3, 500);
  after.states = before.states;
  for (unsigned run = 4; run < 7; ++run) {
    after.fill_whole(run);
    after.run("skip_ring", skip);
    EXPECT_EQ(audit_of(after.states[0]).run, audits[run].run);
    EXPECT_EQ(audit_of(after.states[0]).relative_error, audits[run].relative_error);
  }
  EXPECT_NE(audits[2].relative_error, audits[6].relative_error);
}

TEST(SkipAudit, DenseRunsAreNotAudited) {
  Job job(3, 500);
  job.fill_whole();
  const Skip skip{.steps = 1, .warm_up = 2, .audit = 1};
  for (unsigned run = 1; run <= 3; ++run) {
    job.run("skip_ring", skip);
    EXPECT_EQ(audit_of(job.states[0]).run, run <= 2 ? 0u : 3u);
  }
}

TEST(SkipAudit, IsCountedWithItsBytes) {
  Job job(4, 4000);
  job.fill_normal();
  Skip skip{.steps = 2};
  const auto sent = [&] {
    const std::uint64_t before = job.ranks.counters(1).payload_sent;
    job.run("skip_ring", skip);
    return job.ranks.counters(1).payload_sent - before;
  };
  const std::uint64_t without = sent();
  skip.audit = 1;
  const std::uint64_t with = sent();
  EXPECT_EQ(with - without, 6u * 1024 / 4 * 4) << "a ring of the sample";
  job.run("skip_ring", skip);
  const MethodCounters skips = job.ranks.executor(1).job_counters().methods()[0];
  EXPECT_EQ(skips.sent, without + 2 * with);
  EXPECT_EQ(skips.dense_sent, 3u * 6 * 4000 / 4 * 4);
  EXPECT_EQ(skips.contributions, 3u * 4 * 4000);
  EXPECT_EQ(skips.measures.value(skip_measure::audits), 2);
  EXPECT_DOUBLE_EQ(skips.measures.value(skip_measure::audit_error), 2 * audit_of(job.states[1]).relative_error);
}

TEST(SkipAudit, OfDoublesKeepsTheirPrecision) {
  Job<double> job(3, 2000);
  job.fill_normal();
  job.run("skip_ring", {.steps = 1, .audit = 1});
  EXPECT_NEAR(audit_of(job.states[0]).relative_error, exact_audit(job, 1024, Reduction::Sum).relative_error, 1e-14);
}

TEST(SkipAudit, OfZerosHasNoErrorOrNoNumber) {
  Job job(2, 100);
  job.run("skip_ring", {.steps = 1, .audit = 1});
  EXPECT_EQ(audit_of(job.states[0]).relative_error, 0);
  EXPECT_EQ(audit_of(job.states[0]).cosine, 1);
  for (float& value : job.inputs[0]) value = 1;
  for (float& value : job.inputs[1]) value = -1;
  job.run("skip_ring", {.steps = 1, .audit = 1});
  EXPECT_TRUE(std::isnan(audit_of(job.states[0]).relative_error));
  EXPECT_EQ(job.ranks.executor(0).job_counters().methods()[0].measures.value(skip_measure::audits), 1)
      << "a sum of errors must stay a number";
}

TEST(SkipAudit, IsAgreedOnByAllRanks) {
  for (const Skip& other : {Skip{.steps = 1, .audit = 3}, Skip{.steps = 1, .audit = 2, .audit_samples = 7}}) {
    Job job(3, 100);
    std::vector<Call> calls;
    for (Rank rank = 0; rank < 3; ++rank) {
      calls.push_back(job.call(rank, "skip_ring", rank == 1 ? other : Skip{.steps = 1, .audit = 2}));
    }
    for (const Status& status : job.ranks.run(calls)) EXPECT_FALSE(status) << "a run that none of them audits yet";
  }
}

TEST(SkipAudit, OfTwoCallsInFlightTheYoungerOnesErrorStaysThoughTheOlderEndsLast) {
  Job<> older(3, 40'000), younger(3, 40);
  older.fill_whole();
  younger.fill_whole(2);
  Skip skip{.steps = 1, .audit = 1};
  std::vector<runtime::Run*> first, second;
  for (Rank rank = 0; rank < 3; ++rank) {
    Call low = older.call(rank, "skip_ring", skip), high = younger.call(rank, "skip_ring", skip);
    low.options.priority = Priority::Low;
    high.options.priority = Priority::High;
    high.options.state = low.options.state;
    first.push_back(*older.ranks.post(rank, low));
    second.push_back(*older.ranks.post(rank, high));
  }
  const auto ended = [](const std::vector<runtime::Run*>& runs) {
    return std::all_of(runs.begin(), runs.end(), [](const runtime::Run* run) { return run->finished; });
  };
  while (!ended(second) && older.ranks.sweep()) EXPECT_FALSE(first[0]->finished);
  ASSERT_TRUE(ended(second));
  ASSERT_FALSE(first[0]->finished);
  const SkipAudit told = audit_of(older.states[0]);
  EXPECT_EQ(told.run, 2u);
  EXPECT_EQ(told.samples, 40u);
  ASSERT_TRUE(older.ranks.sweep_until([&] { return ended(first); }));
  for (const MethodState& state : older.states) {
    EXPECT_EQ(audit_of(state).run, 2u);
    EXPECT_EQ(audit_of(state).samples, 40u);
  }
  EXPECT_EQ(audit_of(older.states[0]).relative_error, told.relative_error);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (runtime::Run* run : {first[rank], second[rank]})
      older.ranks.communicator(static_cast<Rank>(rank)).release(*run);
  }
}

TEST(SkipAudit, IsRefusedWhereItMeansNothing) {
  Job job(2, 10);
  const auto refused = [&](Skip skip, Dtype dtype, const std::string& part) {
    Call call = job.call(0, "skip_ring", skip);
    call.dtype = dtype;
    if (part.find("state") != std::string::npos) call.options.state = nullptr;
    const auto run = job.ranks.post(0, call);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.status().code(), Code::InvalidArgument);
    EXPECT_NE(run.status().message().find(part), std::string::npos) << run.status().to_string();
  };
  refused({.steps = 1, .audit = 1}, Dtype::F32, "skip.audit needs a state");
  refused({.steps = 1, .audit = 1}, Dtype::I32, "skip.audit of i32: must be of floating point");
  refused({.steps = 1, .audit = 1, .audit_samples = 0}, Dtype::F32, "audit_samples is 0, must be 1 .. ");
  refused({.steps = 1, .incomplete = true, .gather_steps = 1, .audit = 1}, Dtype::F32, "equal on all ranks");
}

TEST(SkipAudit, EmptyMessagesThatShowWhatWasAskedForAreSentAlsoBesideASample) {
  const auto messages = [](std::uint64_t audit) {
    Job job(4, 1);
    job.run("ring", {.steps = 1, .audit = audit});
    std::uint64_t sent = 0;
    for (Rank rank = 0; rank < 4; ++rank) sent += job.ranks.counters(rank).messages_sent;
    return sent;
  };
  EXPECT_EQ(messages(1), messages(0) + 2 * 3) << "one element goes around the ring twice more";
}

}  // namespace
}  // namespace lacuna::test
