#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

/// Position 0 sums up and sends the sum to all.
void star(GraphBuilder& g) {
  if (g.position() != 0) {
    g.send(g.input(), 0);
    g.receive(g.output(), 0);
    return;
  }
  g.copy(g.output(), g.input());
  for (Rank from = 1; from < g.size(); ++from) g.receive_reduce(g.output(), g.output(), from);
  g.finish(g.output());
  for (Rank to = 1; to < g.size(); ++to) g.send(g.output(), to);
}

constexpr Algorithm named(std::string_view name, void (*build)(GraphBuilder&)) {
  return {.collective = Collective::Allreduce,
          .name = name,
          .summary = "a test's",
          .symmetric = false,
          .supports = nullptr,
          .build = build,
          .bind = nullptr};
}

std::string refusal(const Algorithm& algorithm) {
  const Status status = register_algorithm(algorithm);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  return std::string(status.message());
}

TEST(RegisteredAlgorithms, AreSelectedByNameAndGiveTheResult) {
  static const Algorithm mine = named("star", star);
  ASSERT_TRUE(register_algorithm(mine)) << register_algorithm(mine).to_string();
  for (Rank size : {1, 2, 5}) {
    Ranks ranks(size);
    std::vector<std::vector<float>> data(static_cast<std::size_t>(size), std::vector<float>(1000, 1));
    std::vector<Call> calls;
    for (auto& one : data) calls.push_back(allreduce_call(one, one, "star"));
    for (const Status& status : ranks.run(calls)) EXPECT_TRUE(status) << status.to_string();
    for (const auto& one : data) EXPECT_EQ(one, std::vector<float>(1000, static_cast<float>(size)));
  }
  EXPECT_EQ(refusal(mine), "the name 'star' of this allreduce algorithm is taken");
}

TEST(RegisteredAlgorithms, ATakenNameIsRefused) {
  EXPECT_EQ(refusal(named("ring", star)), "the name 'ring' of this allreduce algorithm is taken");
}

TEST(RegisteredAlgorithms, OneWithoutANameOrAProgramIsRefused) {
  EXPECT_EQ(refusal(named("", star)), "an algorithm needs a name and a build function");
  EXPECT_EQ(refusal(named("empty", nullptr)), "an algorithm needs a name and a build function");
}

TEST(RegisteredAlgorithms, OneWhoseGraphsDoNotFitIsRefusedWithTheFirstNumberOfRanksThatShowsIt) {
  const auto lonely = [](GraphBuilder& g) {
    star(g);
    if (g.size() == 3 && g.position() == 1) g.send(g.output(), 2);
  };
  EXPECT_EQ(refusal(named("lonely", lonely)),
            "allreduce lonely on 3 ranks: position 1 step 2: send 0 to position 2 meets no receive");
}

TEST(RegisteredAlgorithms, AProgramThatAsksForWhatCannotBeIsRefused) {
  EXPECT_EQ(refusal(named("unfinished", [](GraphBuilder& g) { g.finish(g.output()); })),
            "allreduce unfinished on 1 ranks: position 0: finish() of what no reduction or copy wrote");
  EXPECT_EQ(refusal(named("outside", [](GraphBuilder& g) { g.copy(g.output(1, 3, 2), g.input(0, 2, 2)); })),
            "allreduce outside on 1 ranks: position 0: pieces 1 .. 3 of 2 are no range");
  EXPECT_EQ(refusal(named("slots", [](GraphBuilder& g) { g.copy(g.scratch(256, g.input()), g.input()); })),
            "allreduce slots on 1 ranks: position 0: scratch slot 256, must be 0 .. 255");
  EXPECT_EQ(refusal(named("later", [](GraphBuilder& g) { g.after(g.copy(g.output(), g.input()), 7); })),
            "allreduce later on 1 ranks: position 0: after() of another step than the newest");
}

TEST(RegisteredAlgorithms, ALargerNumberOfRanksIsLookedAtByItsFirstCall) {
  static const Algorithm late = named("late", [](GraphBuilder& g) {
    star(g);
    if (g.size() == 20 && g.position() == 7) g.send(g.output(), 8);
  });
  ASSERT_TRUE(register_algorithm(late));
  Call call{.collective = Collective::Allreduce, .options = {.algorithm = "late"}};
  EXPECT_TRUE(select_algorithm(call, 19));
  const Status refused = select_algorithm(call, 20).status();
  EXPECT_NE(refused.message().find("late on 20 ranks: position 7 step 2"), std::string::npos) << refused.to_string();
  call.options.skip_steps = 1;
  EXPECT_NE(select_algorithm(call, 19).status().message().find("skips no steps"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::test
