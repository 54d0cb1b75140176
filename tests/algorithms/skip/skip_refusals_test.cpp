#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

// Options that all ranks refuse alike before anything is sent, and options that differ between ranks.
namespace lacuna::test {
namespace {

struct Refusal {
  std::function<void(Call&)> change;
  std::string says;
};

Call ring_call(Collective collective = Collective::Allreduce) {
  Call call{.collective = collective, .count = 100};
  call.options.algorithm = "skip_ring";
  skip_in(call)->steps = 1;
  return call;
}

void expect_refused(const Call& like, const std::vector<Refusal>& refusals, const Hosts& hosts = 4) {
  ASSERT_TRUE(select_algorithm(like, hosts)) << select_algorithm(like, hosts).status().message();
  for (const Refusal& refusal : refusals) {
    Call call = like;
    refusal.change(call);
    const Status status = select_algorithm(call, hosts).status();
    EXPECT_EQ(status.code(), Code::InvalidArgument) << refusal.says;
    EXPECT_NE(status.message().find(refusal.says), std::string::npos)
        << status.message() << "\nlacks: " << refusal.says;
  }
}

TEST(SkipRefusals, SegmentsCoverTheCallExactlyAlsoWhereTheirLengthsWrap) {
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  const std::vector<std::pair<std::vector<SkipSegment>, bool>> cases = {
      {{{.offset = 0, .count = 100}}, true},
      {{{.offset = 0, .count = 99}}, false},
      {{{.offset = 0, .count = 101}}, false},
      {{{.offset = 0, .count = 4}, {.offset = 4, .count = 96}}, true},
      {{{.offset = 0, .count = 4}, {.offset = 4, .count = 97}}, false},
      {{{.offset = 0, .count = all}}, false},
      {{{.offset = 0, .count = 4}, {.offset = 4, .count = all - 3}, {.offset = 0, .count = 100}}, false},
      {{{.offset = 0, .count = 4}, {.offset = 4, .count = all}, {.offset = 3, .count = 97}}, false},
  };
  for (const auto& [segments, allowed] : cases) {
    Call call = ring_call();
    skip_in(call)->segments = segments;
    const Status status = select_algorithm(call, 4).status();
    EXPECT_EQ(status.is_ok(), allowed) << segments.back().count << ": " << status.to_string();
    if (!allowed) {
      EXPECT_NE(status.message().find("cover exactly the 100 elements"), std::string::npos) << status.to_string();
    }
  }
}

TEST(SkipRefusals, SayWhatIsAllowedOfAnAllreduce) {
  static MethodState state;
  static const std::vector<SkipStage> high = {{.from_run = 0, .steps = 4}};
  expect_refused(
      ring_call(),
      {{[](Call& call) { skip_in(call)->steps = -1; }, "skip.steps is -1, must be 0 .. 3 on 4 ranks"},
       {[](Call& call) { skip_in(call)->steps = 4; }, "skip.steps is 4, must be 0 .. 3 on 4 ranks"},
       {[](Call& call) { call.reduction = Reduction::Max; }, "the reduction is max, must be sum or avg"},
       {[](Call& call) { call.reduction = Reduction::Prod; }, "the reduction is prod, must be sum or avg"},
       {[](Call& call) { skip_in(call)->ratio = 0.5; }, "and skip.ratio is 0.5: one of them must be 0"},
       {[](Call& call) { skip_in(call)->ratio = 1.5; }, "skip: ratio is 1.5, must be 0 .. 1"},
       {[](Call& call) { skip_in(call)->ratio = std::numeric_limits<double>::quiet_NaN(); }, "must be 0 .. 1"},
       {[](Call& call) { skip_in(call)->gather_steps = 1; }, "skip.incomplete asks for that"},
       {[](Call& call) {
          skip_in(call)->gather_steps = 4;
          skip_in(call)->incomplete = true;
        },
        "skip.gather_steps is 4, must be 0 .. 3"},
       {[](Call& call) { skip_in(call)->keep = true; }, "only an allgather leaves"},
       {[](Call& call) { skip_in(call)->warm_up = 3; }, "need a state"},
       {[](Call& call) { skip_in(call)->schedule = high; }, "need a state"},
       {[](Call& call) {
          skip_in(call)->schedule = high;
          call.options.state = &state;
        },
        "skip.schedule: steps is 4, must be 0 .. 3"},
       {[](Call& call) { skip_in(call)->feedback = true; }, "skip.feedback needs a state"},
       {[](Call& call) {
          skip_in(call)->feedback = true;
          call.options.state = &state;
          skip_in(call)->scale = SkipScale::Renormalised;
        },
        "skip.feedback with renormalised results"},
       {[](Call& call) {
          skip_in(call)->feedback = true;
          call.options.state = &state;
          call.dtype = Dtype::I32;
        },
        "skip.feedback of i32: must be of floating point"},
       {[](Call& call) {
          skip_in(call)->scale = SkipScale::Renormalised;
          call.dtype = Dtype::I32;
        },
        "renormalised of i32: integers are not scaled"},
       {[](Call& call) {
          skip_in(call)->scale = SkipScale::Factor;
          skip_in(call)->factor = std::numeric_limits<double>::infinity();
        },
        "factor is inf, must be -1e+300 .. 1e+300"}});
}

TEST(SkipRefusals, AScheduleWhoseRunsDoNotAscendIsRefusedWhereItIsMade) {
  for (const std::uint64_t earlier : {std::uint64_t{5}, std::uint64_t{4}}) {
    const Skip asked{.schedule = {{.from_run = 5, .steps = 1}, {.from_run = earlier, .steps = 2}}};
    const std::string says = fmt::format(
        "invalid argument: skip: schedule is 5:1/{}:2, must be RUN:VALUE/RUN:VALUE/... of 0 .. 1000000000000000, each "
        "RUN later "
        "than the one before it",
        earlier);
    EXPECT_EQ(lacuna::skip(asked).status().to_string(), says);
    EXPECT_EQ(method_options(fmt::format("skip:schedule=5:1/{}:2", earlier)).status().to_string(), says);
  }
  EXPECT_TRUE(method_options("skip:schedule=5:1/6:2"));
}

TEST(SkipRefusals, AlsoNameTheHosts) {
  Call call{.collective = Collective::Allreduce, .count = 100};
  call.options.algorithm = "skip_two_level";
  skip_in(call)->steps = 1;
  expect_refused(call,
                 {{[](Call& one) { skip_in(one)->steps = 2; }, "skip.steps is 2, must be 0 .. 1 on 4 ranks of 2 hosts"},
                  {[](Call& one) { skip_in(one)->mode = SkipMode::Shuffled; }, "ranks keep their places"},
                  {[](Call& one) { skip_in(one)->reversed = true; }, "ranks keep their places"}},
                 Hosts(std::vector<Rank>{0, 0, 1, 1}));
}

TEST(SkipRefusals, SegmentsCoverTheDataInOrder) {
  static const std::vector<SkipSegment> good = {{.offset = 0, .count = 60}, {.offset = 60, .count = 40}};
  static const std::vector<SkipSegment> gap = {{.offset = 0, .count = 50}, {.offset = 60, .count = 40}};
  static const std::vector<SkipSegment> low = {{.offset = 0, .count = 60}, {.offset = 60, .count = 39}};
  static const std::vector<SkipSegment> high = {{.offset = 0, .count = 60}, {.offset = 60, .count = 41}};
  static const std::vector<SkipSegment> vast = {{.offset = 0, .count = 60}, {.offset = 60, .count = ~std::size_t{0}}};
  static const std::vector<SkipSegment> behind = {{.offset = 0, .count = 100}, {.offset = 100, .count = 41}};
  static const std::vector<SkipSegment> automatic = {{.offset = 0, .count = 100, .policy = SkipPolicy::Automatic}};
  Call call = ring_call();
  skip_in(call)->segments = good;
  skip_in(call)->small = 16;
  const auto with = [](std::vector<SkipSegment> segments) {
    return [=](Call& one) { skip_in(one)->segments = segments; };
  };
  expect_refused(call, {{with(gap), "one begins at element 60, must begin at 50"},
                        {with(low), "the last one ends at element 99, they must cover exactly the 100 elements"},
                        {with(high), "one of 41 elements begins at element 60, they must cover exactly the 100"},
                        {with(behind), "one of 41 elements begins at element 100, they must cover exactly the 100"},
                        {with(vast), "one of 18446744073709551615 elements begins at element 60, they must"},
                        {with(automatic), "the policy automatic needs a state, which keeps what is measured"}});
}

TEST(SkipRefusals, SegmentsAreNotTooManyAndTheirImportanceCanBeMeasured) {
  Call call = ring_call();
  call.count = 4000;
  skip_in(call)->small = 0;
  std::vector<SkipSegment> many;
  for (std::size_t i = 0; i < 1000; ++i) {
    many.push_back({.offset = 4 * i, .count = 4, .policy = i % 2 == 0 ? SkipPolicy::Skip : SkipPolicy::Never});
  }
  std::vector<SkipSegment> more = many;
  more.back().count = 2;
  more.push_back({.offset = 3998, .count = 2, .policy = SkipPolicy::Skip});
  skip_in(call)->segments = many;
  std::vector<SkipSegment> automatic = more;  // each of them is one by itself
  for (SkipSegment& segment : automatic) segment.policy = SkipPolicy::Automatic;
  MethodState state;
  call.options.state = &state;
  expect_refused(
      call, {{[&](Call& one) { skip_in(one)->segments = more; }, "1001 that differ from the one before them"},
             {[&](Call& one) { skip_in(one)->segments = automatic; }, "1001 that differ from the one before them"},
             {[&](Call& one) { skip_in(one)->importance_every = 1; }, "importance_every is 1, must be 2"},
             {[&](Call& one) { skip_in(one)->importance_samples = 0; }, "importance_samples is 0, must be 1"},
             {[&](Call& one) { skip_in(one)->importance_threshold = 1.5; }, "importance_threshold is 1.5, must be 0"}});
}

TEST(SkipRefusals, SayWhatIsAllowedOfBlocks) {
  static const std::vector<SkipSegment> whole = {{.offset = 0, .count = 100}};
  expect_refused(ring_call(Collective::ReduceScatter),
                 {{[](Call& call) { skip_in(call)->mode = SkipMode::Random; }, "must be static or shuffled"},
                  {[](Call& call) { skip_in(call)->segments = whole; }, "only an allreduce has them"},
                  {[](Call& call) { call.reduction = Reduction::Min; }, "must be sum or avg"}});
  Call gather = ring_call(Collective::Allgather);
  EXPECT_NE(select_algorithm(gather, 4).status().message().find("skip.incomplete asks for that"), std::string::npos);
  skip_in(gather)->incomplete = true;
  expect_refused(gather, {{[](Call& call) { skip_in(call)->segments = whole; }, "only an allreduce has them"},
                          {[](Call& call) { skip_in(call)->steps = 4; }, "must be 0 .. 3"},
                          {[](Call& call) { skip_in(call)->feedback = true; }, "an allgather adds nothing up"}});
}

/// Rank 1 of three asks for something else. No rank's call ends well, and rank 2, which follows it in the ring, says
/// mismatch. It does not say so if the two disagree about being neighbours.
void expect_mismatch(const char* what, const Skip& skip, void (*change)(Skip&, MethodState&)) {
  SCOPED_TRACE(what);
  SkipRig<float> rig(3);
  rig.fill(50, 1);
  Call like = ring_call();
  like.options.method = lacuna::skip(skip);
  like.options.deadline = std::chrono::milliseconds(200);
  std::vector<MethodState> states(3);
  const auto calls = rig.calls_with(like, [&](Call& call, Rank rank) {
    call.options.state = &states[static_cast<std::size_t>(rank)];
    if (rank == 1) change(*skip_in(call), *call.options.state);
  });
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 3; ++rank) runs.push_back(*rig.ranks.post(rank, calls[static_cast<std::size_t>(rank)]));
  ASSERT_TRUE(rig.ranks.sweep_for(std::chrono::seconds(20), [&] {
    return std::all_of(runs.begin(), runs.end(), [](const runtime::Run* run) { return run->finished; });
  }));
  for (const runtime::Run* run : runs) EXPECT_FALSE(run->status);
  if (calls[1].options.method.as<Skip>().reversed) return;  // the watch tells, in a job that has one
  EXPECT_EQ(runs[2]->status.code(), Code::Mismatch);
  EXPECT_NE(runs[2]->status.message().find("rank 1 asked for something else than rank 2"), std::string::npos)
      << runs[2]->status.to_string();
}

TEST(SkipRefusals, DifferingOptionsEndInAnErrorOnAllRanks) {
  static const std::vector<SkipStage> stages = {{.from_run = 0, .steps = 2}};
  static const std::vector<SkipSegment> segments = {{.offset = 0, .count = 20, .policy = SkipPolicy::Never},
                                                    {.offset = 20, .count = 30}};
  static const std::vector<SkipSegment> others = {{.offset = 0, .count = 21, .policy = SkipPolicy::Never},
                                                  {.offset = 21, .count = 29}};
  const Skip random{.steps = 1, .mode = SkipMode::Random};
  expect_mismatch("steps", random, [](Skip& skip, MethodState&) { skip.steps = 2; });
  expect_mismatch("none", random, [](Skip& skip, MethodState&) { skip.steps = 0; });
  expect_mismatch("mode", random, [](Skip& skip, MethodState&) { skip.mode = SkipMode::Shuffled; });
  expect_mismatch("scale", random, [](Skip& skip, MethodState&) { skip.scale = SkipScale::Renormalised; });
  expect_mismatch("feedback", random, [](Skip& skip, MethodState&) { skip.feedback = true; });
  expect_mismatch("reversed", random, [](Skip& skip, MethodState&) { skip.reversed = true; });
  expect_mismatch("warm-up", random, [](Skip& skip, MethodState&) { skip.warm_up = 1; });
  expect_mismatch("schedule", random, [](Skip& skip, MethodState&) { skip.schedule = stages; });
  expect_mismatch("seed", random, [](Skip&, MethodState& state) { state.sampler.seed = 1; });
  expect_mismatch("draw", random, [](Skip&, MethodState& state) { ++state.sampler.draw; });
  expect_mismatch("segments", random, [](Skip& skip, MethodState&) { skip.segments = segments; });
  expect_mismatch("bounds", {.steps = 1, .small = 4, .segments = segments},
                  [](Skip& skip, MethodState&) { skip.segments = others; });
  expect_mismatch("small", {.steps = 1, .small = 4, .segments = segments},
                  [](Skip& skip, MethodState&) { skip.small = 1000; });
  expect_mismatch("factor", {.steps = 1, .scale = SkipScale::Factor, .factor = 0.5},
                  [](Skip& skip, MethodState&) { skip.factor = 0.25; });
}

}  // namespace
}  // namespace lacuna::test
