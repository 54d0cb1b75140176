#include "bindings/cli/explain.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "algorithms/registry.hpp"

namespace lacuna::cli {
namespace {

Cost cost(Collective collective, const char* name, const Hosts& hosts, std::size_t count) {
  Call call{.collective = collective};
  call.options.algorithm = name;
  return cost_of(**select_algorithm(call, hosts), hosts, count, 4);
}

void expect_cost(const Cost& got, int steps, std::uint64_t most, std::uint64_t total) {
  EXPECT_EQ(got.steps, steps);
  EXPECT_EQ(got.rank_bytes, most);
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

TEST(Cost, OfATorusIsTheRingsBytesInFewerSteps) {
  for (const auto& [rows, columns] : {std::pair(1, 1), {1, 2}, {2, 2}, {2, 4}, {4, 4}, {4, 8}, {8, 8}}) {
    const Rank p = rows * columns;
    const auto ranks = static_cast<std::uint64_t>(p);
    expect_cost(cost(Collective::Allreduce, "torus", p, 1 << 10), 2 * (rows + columns - 2),
                2 * (ranks - 1) * 4096 / ranks, 2 * (ranks - 1) * 4096);
  }
  EXPECT_EQ(cost(Collective::Allreduce, "torus", 7, 700).steps, 12);
  EXPECT_EQ(cost(Collective::Allreduce, "torus", 15, 1500).steps, 12);
}

TEST(Cost, OfTwoLevelsIsTheLeastBetweenHosts) {
  for (const auto& [on_each, count] : {std::pair(1, 4), {2, 2}, {4, 2}, {2, 8}, {8, 8}}) {
    const Rank p = on_each * count;
    std::vector<Rank> names;
    for (Rank rank = 0; rank < p; ++rank) names.push_back(rank % count);
    const Cost even = cost(Collective::Allreduce, "two_level", Hosts(names), 1 << 10);
    const auto ranks = static_cast<std::uint64_t>(p), hosts = static_cast<std::uint64_t>(count);
    expect_cost(even, 2 * (on_each - 1) + 2 * (count - 1), 2 * (ranks - 1) * 4096 / ranks, 2 * (ranks - 1) * 4096);
    EXPECT_EQ(even.host_bytes, 2 * (hosts - 1) * 4096 / hosts);
  }
  const Cost uneven = cost(Collective::Allreduce, "two_level", Hosts(std::vector<Rank>{0, 0, 0, 0, 0, 1, 1, 2}), 300);
  EXPECT_EQ(uneven.steps, 2 + 3 + 2);  // up a tree of 5, around 3 leaders back to the first, down
  EXPECT_EQ(uneven.host_bytes, 2u * 2 * 1200 / 3);
  EXPECT_EQ(uneven.total_bytes, 2u * 2 * 1200 + 2u * 5 * 1200);
}

TEST(Cost, PredictsTheChainAndTheBusiestHost) {
  EXPECT_DOUBLE_EQ((Cost{.steps = 6, .rank_bytes = 5000, .host_bytes = 3000, .total_bytes = 9000}.seconds(1e-5, 1e6)),
                   6e-5 + 3e-3);
}

}  // namespace
}  // namespace lacuna::cli
