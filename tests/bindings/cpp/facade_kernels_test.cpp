#include <gtest/gtest.h>

#include "algorithms/registry/registry.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/sparse_sum.hpp"

// What ranks are told if kernels, or what follows a part, go wrong on one of them.
namespace lacuna {
namespace {

using namespace test;

struct Look {
  static constexpr std::string_view name = "look";
  Read at;
  Write looked_at;

  Status operator()(const KernelCall&) const { return {Code::Mismatch, "the input is wrong"}; }
};

/// Position 0 finds its input wrong before it has sent anything.
const Algorithm refusing = {
    .collective = Collective::Allreduce,
    .name = "refusing",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const Region looked_at = g.buffer({});
          if (g.position() == 0) g.kernel(Look{.at = g.input(), .looked_at = looked_at});
          for (Rank other = 1; other < g.size(); ++other) {
            if (g.position() == 0) g.send(looked_at, other);
          }
          if (g.position() > 0) g.receive(g.output(), 0);
        },
};

Call call_of(const char* algorithm, const std::vector<std::int64_t>& input, std::vector<std::int64_t>& output) {
  Call call{.collective = Collective::Allreduce,
            .input = input.data(),
            .output = output.data(),
            .count = input.size(),
            .dtype = Dtype::I64};
  call.options.algorithm = algorithm;
  return call;
}

TEST(FacadeKernels, WhatAKernelFindsWrongOnOneRankEndsTheCallOnAll) {
  static const Status registered = register_algorithm(refusing);
  ASSERT_TRUE(registered) << registered.to_string();
  for (Progress progress : {Progress::Caller, Progress::Thread}) {
    auto ranks = local(3, progress);
    on_each(ranks, [](Communicator& rank) {
      const std::vector<std::int64_t> input(10, 1);
      std::vector<std::int64_t> output(10);
      const Status end = rank.call(call_of("refusing", input, output));
      EXPECT_EQ(end.code(), Code::Mismatch) << end.to_string();
      EXPECT_NE(end.message().find("rank 0: look: the input is wrong"), std::string::npos) << end.to_string();
    });
  }
}

TEST(FacadeKernels, APartThatFollowsOnOneRankOnlyEndsOnAll) {
  static const Status registered = register_algorithm(sparse_sum);
  ASSERT_TRUE(registered) << registered.to_string();
  auto ranks = local(3, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    const std::vector<std::int64_t> input(10, 1);
    std::vector<std::int64_t> output(10);
    Call call = call_of("sparse_sum", input, output);
    call.options.method = sparse_sum_options({.most = 5, .stays = rank.rank() == 1});
    Status end = rank.call(call);
    if (end) end = rank.call(barrier());  // the rank that lets nothing follow has ended well, until it hears of it
    EXPECT_EQ(end.code(), Code::Mismatch) << end.to_string();
    EXPECT_NE(end.message().find("part 1 of call 0"), std::string::npos) << end.to_string();
  });
}

}  // namespace
}  // namespace lacuna
