#include <gtest/gtest.h>

#include "algorithms/topk/selecting.hpp"
#include "runtime/graph/graph.hpp"
#include "tests/support/calls.hpp"

// On how many ranks each algorithm of topk serves. No calls are made.
namespace lacuna::test {
namespace {

/// The program that serves a call, or why none does.
Result<const Algorithm*> program_for(Collective collective, std::string_view algorithm, Rank size) {
  static MethodState state;
  Call call{.collective = collective, .count = 100'000};
  call.options.algorithm = algorithm;
  call.options.method = *method_options("topk:density=0.01");
  call.options.state = &state;
  return select_algorithm(call, size);
}

TEST(TopkOnManyRanks, AlgorithmsThatAddAllMessagesAtOnceAreRefusedAboveTheirLimit) {
  const std::pair<Collective, const char*> limited[] = {{Collective::Allreduce, "sparse_allgather"},
                                                        {Collective::Allreduce, "sparse_split"},
                                                        {Collective::ReduceScatter, "sparse_split"}};
  for (const auto& [collective, name] : limited) {
    EXPECT_TRUE(program_for(collective, name, 1024)) << name;
    const auto refused = program_for(collective, name, 1025);
    ASSERT_FALSE(refused) << name;
    const std::string text = refused.status().to_string();
    EXPECT_NE(text.find("1025 ranks, at most 1024 are allowed"), std::string::npos) << text;
    EXPECT_EQ(text.find("sparse_doubling") != std::string::npos, collective == Collective::Allreduce) << text;
  }
}

TEST(TopkOnManyRanks, TheOthersServeAndOneOfThemIsTheChoice) {
  const std::pair<Collective, const char*> free[] = {{Collective::Allreduce, "sparse_ring"},
                                                     {Collective::Allreduce, "sparse_doubling"},
                                                     {Collective::Allreduce, "gtopk"},
                                                     {Collective::Allreduce, ""},
                                                     {Collective::Allgather, ""}};
  for (const auto& [collective, name] : free) {
    const auto program = program_for(collective, name, 1025);
    ASSERT_TRUE(program) << name << ": " << program.status().to_string();
    for (Rank position : {0, 1, 512, 1024}) {
      const GraphShape shape{.collective = collective, .size = 1025, .position = position};
      EXPECT_TRUE(program_of(**program, shape).status()) << name << " at " << position;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
