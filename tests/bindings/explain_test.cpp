#include "bindings/cli/explain.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "algorithms/registry.hpp"

namespace lacuna::cli {
namespace {

Cost cost(Collective collective, const char* name, Rank ranks, std::size_t count) {
  Call call{.collective = collective};
  call.options.algorithm = name;
  return cost_of(**select_algorithm(call, ranks), ranks, count, 4);
}

void expect_cost(const Cost& got, int steps, std::uint64_t most, std::uint64_t total) {
  EXPECT_EQ(got.steps, steps);
  EXPECT_EQ(got.most_bytes, most);
  EXPECT_EQ(got.total_bytes, total);
}

TEST(Cost, IsThatOfThePublishedFormulas) {
  for (Rank p : {1, 2, 4, 8, 16}) {
    const auto ranks = static_cast<std::uint64_t>(p);
    const std::size_t count = 1 << 10;
    const std::uint64_t n = 4 * count;
    const int log2 = std::countr_zero(ranks);
    expect_cost(cost(Collective::Allreduce, "ring", p, count), 2 * (p - 1), 2 * (ranks - 1) * n / ranks,
                2 * (ranks - 1) * n);
    expect_cost(cost(Collective::Allreduce, "recursive_doubling", p, count), log2, static_cast<std::uint64_t>(log2) * n,
                static_cast<std::uint64_t>(log2) * ranks * n);
    expect_cost(cost(Collective::Allreduce, "halving_doubling", p, count), 2 * log2, 2 * (ranks - 1) * n / ranks,
                2 * (ranks - 1) * n);
    expect_cost(cost(Collective::Allgather, "ring", p, count), p - 1, (ranks - 1) * n, ranks * (ranks - 1) * n);
    expect_cost(cost(Collective::Alltoall, "pairwise", p, count), p > 1, (ranks - 1) * n, ranks * (ranks - 1) * n);
    expect_cost(cost(Collective::Broadcast, "tree", p, count), log2, static_cast<std::uint64_t>(log2) * n,
                (ranks - 1) * n);
    expect_cost(cost(Collective::Reduce, "tree", p, count), log2, static_cast<std::uint64_t>(log2) * n,
                (ranks - 1) * n);
    expect_cost(cost(Collective::Gather, "linear", p, count), p > 1, (ranks - 1) * n, (ranks - 1) * n);
    expect_cost(cost(Collective::Barrier, "dissemination", p, 0), log2, 0, 0);
  }
}

TEST(Cost, PredictsTheChainAndTheBusiestRank) {
  EXPECT_DOUBLE_EQ((Cost{.steps = 6, .most_bytes = 3000, .total_bytes = 9000}.seconds(1e-5, 1e6)), 6e-5 + 3e-3);
}

}  // namespace
}  // namespace lacuna::cli
