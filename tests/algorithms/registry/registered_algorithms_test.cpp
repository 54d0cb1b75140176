#include <gtest/gtest.h>

#include "algorithms/phases/tree_phases.hpp"
#include "algorithms/registry/registry.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

/// Builds a star: position 0 sums up and sends the sum to all positions.
void star(GraphBuilder& g) {
  if (g.position() != 0) {
    g.send(g.input(), 0);
    g.receive(g.output(), 0);
    return;
  }
  g.copy(g.output(), g.input());
  for (Rank from = 1; from < g.size(); ++from) g.receive_reduce(g.output(), g.output(), from, Brings::Term);
  g.finish(g.output());
  for (Rank to = 1; to < g.size(); ++to) g.send(g.output(), to);
}

constexpr Algorithm named(std::string_view name, void (*build)(GraphBuilder&)) {
  return {.collective = Collective::Allreduce, .name = name, .summary = "a test's", .symmetric = false, .build = build};
}

std::string refusal(const Algorithm& algorithm) {
  const Status status = register_algorithm(algorithm);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  return std::string(status.message());
}

/// Runs it on ones, and expects every rank to have their sum.
void expect_sums(const char* name, Rank size) {
  Ranks ranks(size);
  std::vector<std::vector<float>> data(static_cast<std::size_t>(size), std::vector<float>(1000, 1));
  std::vector<Call> calls;
  for (auto& one : data) calls.push_back(allreduce_call(one, one, name));
  for (const Status& status : ranks.run(calls)) EXPECT_TRUE(status) << status.to_string();
  for (const auto& one : data) EXPECT_EQ(one, std::vector<float>(1000, static_cast<float>(size)));
}

TEST(RegisteredAlgorithms, AreSelectedByNameAndGiveTheResult) {
  static const Algorithm mine = named("my_star", star);
  ASSERT_TRUE(register_algorithm(mine)) << register_algorithm(mine).to_string();
  for (Rank size : {1, 2, 5}) expect_sums("my_star", size);
  EXPECT_EQ(refusal(mine), "the name 'my_star' of this allreduce algorithm is taken");
}

TEST(RegisteredAlgorithms, MayStandOnATopologyOfTheUsersOwn) {
  static const Topology tree = *Topology::from_parents({2, 2, 4, 4, -1, 3, 0});
  static const Algorithm mine = {
      .collective = Collective::Allreduce,
      .name = "own_tree",
      .summary = "up and down a tree of this test's",
      .symmetric = false,
      .supports = [](const Call&, const Hosts& hosts) -> Status {
        if (hosts.size() == tree.size()) return {};
        return {Code::InvalidArgument, "own_tree is of 7 ranks"};
      },
      .build = [](GraphBuilder& g) { tree_allreduce(g, tree, g.input(), g.output()); },
  };
  const Status registered = register_algorithm(mine);
  ASSERT_TRUE(registered) << registered.to_string();
  expect_sums("own_tree", 7);
  Call call{.collective = Collective::Allreduce, .options = {.algorithm = "own_tree"}};
  EXPECT_EQ(select_algorithm(call, 6).status().message(), "own_tree is of 7 ranks");
}

/// The root hands the data to the leaders, and each leader hands them to its host.
const Algorithm by_leaders = {
    .collective = Collective::Broadcast,
    .name = "by_leaders",
    .summary = "a test's",
    .symmetric = false,
    .by_hosts = true,
    .build =
        [](GraphBuilder& g) {
          const Topology hosts = Topology::two_level(g.hosts());
          const Rank me = g.position();
          if (me == 0) {
            g.copy(g.output(), g.input());
            for (Rank leader : hosts.line(0, 0).positions) {
              if (leader != 0) g.send(g.output(), leader);
            }
          } else if (!hosts.parent(me)) {
            g.receive(g.output(), 0);
          }
          tree_broadcast(g, hosts, g.output());
        },
    .order = from_root,
};

/// Returns what all ranks have sent to other hosts.
std::uint64_t payload_between(Ranks& ranks, const std::vector<Rank>& hosts) {
  std::uint64_t sum = 0;
  for (Rank from = 0; from < ranks.size(); ++from) {
    for (Rank to = 0; to < ranks.size(); ++to) {
      if (hosts[static_cast<std::size_t>(from)] == hosts[static_cast<std::size_t>(to)]) continue;
      sum += ranks.executor(from).counters(to).payload_sent;
    }
  }
  return sum;
}

TEST(RegisteredAlgorithms, SeeTheHostsOfPositionsWhicheverRankIsTheRoot) {
  ASSERT_TRUE(register_algorithm(by_leaders));
  const std::vector<Rank> hosts = {0, 0, 1, 2, 1};
  Ranks ranks(5, {.network = {}, .executor = quick_executor(), .hosts = hosts});
  for (int round = 0; round < 2; ++round) {  // the second time graphs come out of the cache
    for (Rank root = 0; root < 5; ++root) {
      std::vector<std::vector<float>> data(5);
      std::vector<Call> calls;
      for (Rank rank = 0; rank < 5; ++rank) {
        auto& mine = data[static_cast<std::size_t>(rank)];
        mine.assign(100, static_cast<float>(rank));
        calls.push_back(broadcast_call(mine, root));
        calls.back().options.algorithm = "by_leaders";
      }
      const std::uint64_t before = payload_between(ranks, hosts);
      for (const Status& status : ranks.run(calls)) EXPECT_TRUE(status) << status.to_string();
      for (const auto& mine : data) EXPECT_EQ(mine, std::vector<float>(100, static_cast<float>(root)));
      EXPECT_EQ(payload_between(ranks, hosts) - before, 2u * 400) << "root " << root;
    }
  }
}

TEST(RegisteredAlgorithms, ThoseByHostsAreVerifiedOnSeveralHosts) {
  static Algorithm lonely = by_leaders;
  lonely.name = "lonely_leader";
  lonely.build = [](GraphBuilder& g) {
    by_leaders.build(g);
    if (g.hosts().count() == 2 && g.position() == 0) g.send(g.output(), 1);
  };
  EXPECT_EQ(refusal(lonely),
            "broadcast lonely_leader on 2 ranks of 2 hosts: position 0 step 2: send 1 to position 1 "
            "meets no receive");
}

TEST(RegisteredAlgorithms, OneThatLooksAtHostsWithoutSayingSoIsRefused) {
  Algorithm silent = by_leaders;
  silent.name = "silent";
  silent.by_hosts = false;
  EXPECT_NE(refusal(silent).find("hosts() is called by a program whose algorithm is not by_hosts"), std::string::npos);
  Algorithm symmetric = by_leaders;
  symmetric.name = "symmetric";
  symmetric.symmetric = true;
  EXPECT_NE(refusal(symmetric).find("hosts() is called by a symmetric program"), std::string::npos);
}

TEST(RegisteredAlgorithms, ATakenNameIsRefused) {
  EXPECT_EQ(refusal(named("ring", star)), "the name 'ring' of this allreduce algorithm is taken");
}

TEST(RegisteredAlgorithms, OneWithoutANameOrAProgramIsRefused) {
  EXPECT_EQ(refusal(named("", star)), "the allreduce algorithm '' has no name; it needs a name and a build function");
  EXPECT_EQ(refusal(named("empty", nullptr)),
            "the allreduce algorithm 'empty' has no build function; it needs a name and a build function");
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
  EXPECT_EQ(
      refusal(named("unfinished", [](GraphBuilder& g) { g.finish(g.output()); })),
      "allreduce unfinished on 1 rank: position 0: finish() is called for a region that no reduction or copy wrote");
  EXPECT_EQ(refusal(named("outside", [](GraphBuilder& g) { g.copy(g.output(1, 3, 2), g.input(0, 2, 2)); })),
            "allreduce outside on 1 rank: position 0: pieces 1 .. 3 of 2 are no region");
  EXPECT_EQ(refusal(named("slots", [](GraphBuilder& g) { g.copy(g.scratch(256, g.input()), g.input()); })),
            "allreduce slots on 1 rank: position 0: scratch() is called for block 256, must be 0 .. 255");
  EXPECT_EQ(refusal(named("apart",
                          [](GraphBuilder& g) {
                            const Region all = g.buffer({.capacity = [](const PartView& part) { return part.count; }});
                            for (int i = 0; i < 256; ++i) g.disjoint({GraphBuilder::counted(all, g.value())});
                          })),
            "allreduce apart on 1 rank: position 0: disjoint() is called more than 255 times");
  EXPECT_EQ(refusal(named("later", [](GraphBuilder& g) { g.after(g.copy(g.output(), g.input()), 7); })),
            "allreduce later on 1 rank: position 0: after() is called for a step that is not the newest");
}

TEST(RegisteredAlgorithms, AProgramThatTakesSeveralBlocksAtOnceIsRefused) {
  Algorithm halves = named("halves", [](GraphBuilder& g) {
    g.copy(g.output(g.position()), g.input(g.position()));
    if (g.size() < 4) return;
    const Rank low = g.position() & 2;
    g.send(g.output(low, low + 2, 4), g.position() ^ 2);
  });
  halves.collective = Collective::Allgather;
  EXPECT_EQ(
      refusal(halves),
      "allgather halves on 4 ranks: position 0: allgather has blocks: a region must be one of 4, not [0, 2) of 4");
  Algorithm all = named("all", [](GraphBuilder& g) { g.copy(g.output(), g.input()); });
  all.collective = Collective::Alltoall;
  EXPECT_EQ(refusal(all),
            "alltoall all on 2 ranks: position 0: alltoall has blocks: a region must be one of 2, not [0, 1) of 1");
}

TEST(RegisteredAlgorithms, AProgramThatWritesSeveralBlocksAtOnceIsRefused) {
  Algorithm wide = named("wide", [](GraphBuilder& g) { g.copy(g.output(), g.input(g.position())); });
  wide.collective = Collective::Alltoall;
  EXPECT_EQ(refusal(wide),
            "alltoall wide on 2 ranks: position 0: alltoall has blocks: a region must be one of 2, not [0, 1) of 1");
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
  skip_in(call)->steps = 1;
  EXPECT_NE(select_algorithm(call, 19).status().message().find("does not serve the method skip"), std::string::npos);
}

/// Is not served on one host, and is wrong on two: the last rank sends what nobody takes.
void wrong_on_two_hosts(GraphBuilder& g) {
  star(g);
  if (g.hosts().count() == 2 && g.position() + 1 == g.size()) g.send(g.input(), 0);
}

TEST(RegisteredAlgorithms, AreVerifiedOnTheHostsThatTheyServeAlsoBehindSomeThatTheyDoNot) {
  static const Algorithm mine = {
      .collective = Collective::Allreduce,
      .name = "several_hosts",
      .summary = "a test's",
      .symmetric = false,
      .by_hosts = true,
      .supports = [](const Call&, const Hosts& hosts) -> Status {
        if (hosts.count() > 1) return {};
        return {Code::InvalidArgument, "several_hosts is of several hosts"};
      },
      .build = wrong_on_two_hosts,
  };
  EXPECT_EQ(refusal(mine),
            "allreduce several_hosts on 2 ranks of 2 hosts: position 1 step 2: send 1 to position 0 meets no receive");
}

}  // namespace
}  // namespace lacuna::test
