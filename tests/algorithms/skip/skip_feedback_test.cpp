#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "algorithms/skip/skipping.hpp"
#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

using Vectors = std::vector<std::vector<float>>;

/// Ranks, two on each host, with a state each.
struct FeedbackRig : SkipRig<float> {
  explicit FeedbackRig(Rank size) : SkipRig(size, hosts_of(size)), states(inputs.size()) {}

  static std::vector<Rank> hosts_of(Rank size) {
    std::vector<Rank> hosts;
    for (Rank rank = 0; rank < size; ++rank) hosts.push_back(rank / 2);
    return hosts;
  }

  /// Returns the residuals by rank; zeros if there is none yet.
  Vectors residuals() const {
    Vectors all;
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      all.emplace_back(inputs[rank].size());
      const std::vector<std::byte>& residual = residual_of(states[rank]);
      if (!residual.empty()) std::memcpy(all.back().data(), residual.data(), residual.size());
    }
    return all;
  }

  void run_once(Call like, bool in_place) {
    skip_in(like)->feedback = true;
    std::vector<Call> calls =
        calls_with(like, [&](Call& call, Rank rank) { call.options.state = &states[static_cast<std::size_t>(rank)]; });
    if (in_place) {
      outputs = inputs;
      for (std::size_t i = 0; i < calls.size(); ++i) calls[i].input = calls[i].output = outputs[i].data();
    }
    run(calls);
  }

  std::vector<MethodState> states;
};

/// Sums element i over the ranks.
double total(const Vectors& all, std::size_t i) {
  double sum = 0;
  for (const auto& one : all) sum += static_cast<double>(one[i]);
  return sum;
}

Call call_of(const Algorithm& algorithm, const Skip& skip) {
  Call call{.collective = algorithm.collective};
  call.options.algorithm = algorithm.name;
  call.options.method = lacuna::skip(skip);
  return call;
}

/// Returns what one call's result holds of element i of the inputs.
double result(const FeedbackRig& rig, Collective collective, std::size_t i) {
  if (collective == Collective::Allreduce) return static_cast<double>(rig.outputs[0][i]);
  const std::size_t block = rig.outputs[0].size();
  return static_cast<double>(rig.outputs[i / block][i % block]);
}

TEST(SkipFeedback, WhatWentInCameOutOrIsInTheResiduals) {
  for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter}) {
    for (Rank size : {1, 2, 3, 4, 5, 8}) {
      FeedbackRig rig(size);
      const Hosts hosts(FeedbackRig::hosts_of(size));
      for (const Algorithm* algorithm : skipping_algorithms(collective)) {
        for (int steps = 0; steps <= skipping_of(*algorithm)->most(hosts); ++steps) {
          for (SkipMode mode : {SkipMode::Static, SkipMode::Random, SkipMode::Shuffled}) {
            for (bool in_place : {false, true}) {
              const Call call = call_of(*algorithm, {.steps = steps, .mode = mode, .feedback = true});
              Call valid = call;
              valid.options.state = &rig.states[0];
              if (!select_algorithm(valid, hosts) || (in_place && collective != Collective::Allreduce)) continue;
              rig.states.assign(rig.states.size(), {});
              for (unsigned k = 0; k < 4; ++k) {
                rig.fill(120, k);
                const Vectors before = rig.residuals();
                ASSERT_NO_FATAL_FAILURE(rig.run_once(call, in_place));
                const Vectors after = rig.residuals();
                for (std::size_t i = 0; i < 120; ++i) {
                  ASSERT_EQ(result(rig, collective, i) + total(after, i), total(rig.inputs, i) + total(before, i))
                      << fmt::format("{} on {} ranks, S {} {}, call {}, element {}", algorithm->name, size, steps,
                                     to_string(mode), k, i);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(SkipFeedback, AnAverageHoldsThePartOfTheSumThatCameOut) {
  FeedbackRig rig(4);
  Call call{.collective = Collective::Allreduce, .reduction = Reduction::Avg};
  call.options.method = lacuna::skip({.steps = 2, .mode = SkipMode::Random});
  for (unsigned k = 0; k < 5; ++k) {
    rig.fill(120, k);
    const Vectors before = rig.residuals();
    rig.run_once(call, false);
    const Vectors after = rig.residuals();
    for (std::size_t i = 0; i < 120; ++i) {
      EXPECT_EQ(4 * static_cast<double>(rig.outputs[3][i]) + total(after, i), total(rig.inputs, i) + total(before, i));
    }
  }
}

TEST(SkipFeedback, ARankKeepsExactlyWhatItDidNotContribute) {
  FeedbackRig rig(5);
  rig.fill(120, 1);
  rig.run_once(call_of(**std::find_if(all_algorithms().begin(), all_algorithms().end(),
                                      [](const Algorithm* one) { return one->name == "ring"; }),
                       {.steps = 2}),
               false);
  const Vectors kept = rig.residuals();
  each_element(120, sizeof(float), 5, nullptr, [&](std::size_t i, Rank owner) {
    for (Rank rank = 0; rank < 5; ++rank) {
      const bool left_out = (rank - owner + 5) % 5 == 1 || (rank - owner + 5) % 5 == 2;
      const auto r = static_cast<std::size_t>(rank);
      ASSERT_EQ(kept[r][i], left_out ? rig.inputs[r][i] : 0.0F) << "rank " << rank << " element " << i;
    }
  });
}

TEST(SkipFeedback, ADenseCallBringsInAllThatWasKept) {
  FeedbackRig rig(4);
  Call call{.collective = Collective::Allreduce};
  const std::vector<SkipStage> stages = {{.from_run = 3, .steps = 0}};
  call.options.algorithm = "skip_ring";
  call.options.method = lacuna::skip({.steps = 2, .mode = SkipMode::Shuffled, .warm_up = 1, .schedule = stages});
  double in = 0, out = 0;
  for (unsigned k = 0; k < 4; ++k) {
    rig.fill(120, k);
    rig.run_once(call, false);
    for (std::size_t i = 0; i < 120; ++i) in += total(rig.inputs, i), out += static_cast<double>(rig.outputs[0][i]);
    EXPECT_EQ(residual_of(rig.states[0]).empty(), k == 0) << "the warm-up needs none";
    EXPECT_EQ(rig.residuals() == Vectors(4, std::vector<float>(120)), k == 0 || k == 3);
  }
  EXPECT_EQ(in, out);
  EXPECT_EQ(rig.residuals(), Vectors(4, std::vector<float>(120)));
}

TEST(SkipFeedback, KeepsTheMassOfEverySegment) {
  FeedbackRig rig(4);
  const std::vector<SkipSegment> segments = {{.offset = 0, .count = 100, .policy = SkipPolicy::Skip},
                                             {.offset = 100, .count = 3, .policy = SkipPolicy::Skip},
                                             {.offset = 103, .count = 50, .policy = SkipPolicy::Never},
                                             {.offset = 153, .count = 7, .policy = SkipPolicy::Skip}};
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = "skip_ring";
  call.options.method = lacuna::skip({.steps = 3, .mode = SkipMode::Random, .small = 40, .segments = segments});
  for (unsigned k = 0; k < 5; ++k) {
    for (bool in_place : {false, true}) {
      rig.fill(160, k);
      const Vectors before = rig.residuals();
      rig.run_once(call, in_place);
      const Vectors after = rig.residuals();
      for (std::size_t i = 0; i < 160; ++i) {
        ASSERT_EQ(static_cast<double>(rig.outputs[0][i]) + total(after, i), total(rig.inputs, i) + total(before, i));
        ASSERT_TRUE(i < 100 || total(after, i) == 0) << "a dense segment keeps nothing: element " << i;
      }
    }
  }
}

TEST(SkipFeedback, WithoutItNoStateGrows) {
  FeedbackRig rig(4);
  rig.fill(120, 1);
  Call call{.collective = Collective::Allreduce};
  call.options.method = lacuna::skip({.steps = 2, .mode = SkipMode::Random});
  rig.run(rig.calls_with(
      call, [&](Call& one, Rank rank) { one.options.state = &rig.states[static_cast<std::size_t>(rank)]; }));
  for (const MethodState& state : rig.states) {
    EXPECT_EQ(residual_of(state).capacity(), 0u);
    EXPECT_EQ(state.runs, 1u);
    EXPECT_EQ(state.sampler.draw, 1u);
  }
}

TEST(SkipFeedback, AStateCountsCallsWhateverAlgorithmServesThem) {
  for (const char* algorithm : {"", "skip_ring", "recursive_doubling"}) {
    FeedbackRig rig(4);
    rig.fill(8, 1);
    Call call{.collective = Collective::Allreduce};
    call.options.algorithm = algorithm;
    call.options.method = lacuna::skip({.steps = 0, .warm_up = 3});
    for (std::uint64_t runs = 1; runs <= 2; ++runs) {
      rig.run(rig.calls_with(
          call, [&](Call& one, Rank rank) { one.options.state = &rig.states[static_cast<std::size_t>(rank)]; }));
      for (const MethodState& state : rig.states) EXPECT_EQ(state.runs, runs) << algorithm;
    }
  }
}

TEST(SkipFeedback, ASecondCallOfAStateInUseIsBusyAndAnotherLengthRefused) {
  FeedbackRig rig(2);
  rig.fill(120, 1);
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = "skip_ring";
  call.options.method = lacuna::skip({.steps = 1, .feedback = true});
  const auto calls = rig.calls_with(
      call, [&](Call& one, Rank rank) { one.options.state = &rig.states[static_cast<std::size_t>(rank)]; });
  runtime::Run* first = *rig.ranks.post(0, calls[0]);
  const auto second = rig.ranks.post(0, calls[0]);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), Code::Busy);
  runtime::Communicator elsewhere(rig.ranks.executor(0), 99);
  const auto there = elsewhere.post(calls[0], **select_algorithm(calls[0], 2));
  ASSERT_FALSE(there);
  EXPECT_EQ(there.status().code(), Code::Busy) << "in a call of another communicator";
  EXPECT_EQ(rig.states[0].restore(*MethodState().save()).code(), Code::Busy) << "its arrays are written to";
  EXPECT_EQ(rig.states[0].save().status().code(), Code::Busy) << "its arrays are written to";
  runtime::Run* other = *rig.ranks.post(1, calls[1]);
  ASSERT_TRUE(rig.ranks.sweep_until([&] { return first->finished && other->finished; }));
  rig.ranks.communicator(0).release(*first);
  rig.ranks.communicator(1).release(*other);
  EXPECT_TRUE(rig.states[0].restore(*rig.states[0].save()));
  Call shorter = calls[0];
  shorter.count = 119;
  const auto refused = rig.ranks.post(0, shorter);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().code(), Code::InvalidArgument);
  EXPECT_NE(refused.status().message().find("480 bytes, the call's input 476"), std::string::npos)
      << refused.status().message();
}

}  // namespace
}  // namespace lacuna::test
