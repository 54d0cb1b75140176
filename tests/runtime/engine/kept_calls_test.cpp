#include "runtime/engine/kept_calls.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using runtime::CollectiveRun;
using runtime::KeptCalls;

/// A call, and the run that has carried it out.
struct Made {
  Made() : call(allreduce_call(in, out)) { run.call = call; }

  std::vector<float> in = std::vector<float>(4), out = std::vector<float>(4);
  Call call;
  CollectiveRun run;
};

TEST(KeptCalls, ACallTakesTheRunOfOneThatIsLikeIt) {
  Made made;
  KeptCalls kept;
  EXPECT_EQ(kept.find(made.call), nullptr);
  EXPECT_EQ(kept.keep(made.run), nullptr);
  const std::function<void(Call&)> differences[] = {
      [](Call& call) { call.collective = Collective::ReduceScatter; },
      [&](Call& call) { call.input = made.out.data(); },
      [&](Call& call) { call.output = made.in.data(); },
      [](Call& call) { call.count = 3; },
      [](Call& call) { call.dtype = Dtype::I32; },
      [](Call& call) { call.reduction = Reduction::Max; },
      [](Call& call) { call.root = 1; },
      [](Call& call) { call.options.algorithm = "torus"; },
  };
  for (std::size_t i = 0; i < std::size(differences); ++i) {
    Call other = made.call;
    differences[i](other);
    EXPECT_EQ(kept.find(other), nullptr) << "difference " << i;
  }
  Call later = made.call;
  later.options.priority = Priority::High;
  later.options.notify = 7;
  ASSERT_EQ(kept.find(later), &made.run);
  kept.take(made.run);
  EXPECT_EQ(kept.find(later), nullptr) << "it is taken";
}

TEST(KeptCalls, ACallThatMoreDescribesIsNotKept) {
  MethodState state;
  Sampler sampler;
  std::uint32_t place = 0;
  const std::function<void(Call&)> more[] = {
      [](Call& call) { call.memory.kind = MemoryKind::Cuda; },
      [](Call& call) { call.reduction = Reduction::Own; },
      [](Call& call) { call.collective = Collective::Alltoallv; },
      [&](Call& call) { call.input_entries.places = &place; },
      [&](Call& call) { call.output_entries.places = &place; },
      [](Call& call) { call.options.method = *method_options("blocks"); },
      [&](Call& call) { call.options.state = &state; },
      [&](Call& call) { call.options.sampler = &sampler; },
  };
  Made made;
  EXPECT_TRUE(KeptCalls::may_keep(made.call));
  for (std::size_t i = 0; i < std::size(more); ++i) {
    Call call = made.call;
    more[i](call);
    EXPECT_FALSE(KeptCalls::may_keep(call)) << i;
  }
}

TEST(KeptCalls, TheOldestOneLeavesWhenAllPlacesAreTaken) {
  std::vector<Made> made(KeptCalls::places + 2);
  KeptCalls kept;
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(kept.keep(made[i].run), i < KeptCalls::places ? nullptr : &made[i - KeptCalls::places].run) << i;
  }
  std::size_t left = 0;
  while (kept.take_any()) ++left;
  EXPECT_EQ(left, KeptCalls::places);
}

}  // namespace
}  // namespace lacuna::test
