#include "algorithms/registry/registry.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "algorithms/registry/growing_list.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {
namespace {

Call call_of(Collective collective, const char* algorithm, std::size_t count = 10) {
  Call call;
  call.collective = collective;
  call.count = count;
  call.options.algorithm = algorithm;
  return call;
}

TEST(Registry, NamesAreUniqueWithinACollectiveAndEveryCollectiveIsServed) {
  std::set<std::pair<Collective, std::string_view>> names;
  std::set<Collective> served;
  for (const Algorithm* algorithm : all_algorithms()) {
    EXPECT_TRUE(names.emplace(algorithm->collective, algorithm->name).second) << algorithm->name;
    EXPECT_FALSE(algorithm->summary.empty()) << algorithm->name;
    served.insert(algorithm->collective);
  }
  EXPECT_EQ(served.size(), all_collectives.size());
}

TEST(Registry, AListGrowsUntilItIsFullAndKeepsAll) {
  const std::vector<int> numbers(257);
  GrowingList<int> list({});
  for (std::size_t i = 0; i < 256; ++i) EXPECT_TRUE(list.add(numbers[i]));
  EXPECT_FALSE(list.add(numbers[256]));
  ASSERT_EQ(list.all().size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(list.all()[i], &numbers[i]);
}

TEST(Registry, ANamedAlgorithmIsTaken) {
  for (const Algorithm* algorithm : all_algorithms()) {
    const Call call = call_of(algorithm->collective, algorithm->name.data());
    const auto selected = select_algorithm(call, Hosts(4).with_board());
    ASSERT_TRUE(selected) << selected.status().to_string();
    EXPECT_EQ(*selected, algorithm);
  }
}

TEST(Registry, AnUnknownNameIsRefusedWithTheNamesThatThereAre) {
  const Status refused = select_algorithm(call_of(Collective::Allreduce, "rnig"), 4).status();
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  for (const char* part : {"allreduce", "'rnig'", "ring", "recursive_doubling", "skip_ring"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  }
}

TEST(Registry, AnAlgorithmOfAnotherCollectiveIsRefused) {
  EXPECT_FALSE(select_algorithm(call_of(Collective::Allgather, "recursive_doubling"), 4));
}

TEST(Registry, AnotherPreferenceGivesWayToTheCallsOwn) {
  EXPECT_EQ((*select_algorithm(call_of(Collective::Allreduce, ""), 4, "double_tree"))->name, "double_tree");
  EXPECT_EQ((*select_algorithm(call_of(Collective::Allreduce, "ring"), 4, "double_tree"))->name, "ring");
}

TEST(Registry, RanksThatShareABoardUseItForSmallCalls) {
  const Hosts with = Hosts(4).with_board(), without(4);
  const auto name = [](Collective collective, std::size_t count, const Hosts& hosts) {
    return (*select_algorithm(call_of(collective, "", count), hosts))->name;
  };
  EXPECT_EQ(name(Collective::Allreduce, 1, with), "board");
  EXPECT_EQ(name(Collective::Allreduce, 1024, with), "board");
  EXPECT_EQ(name(Collective::Allreduce, 1025, with), "recursive_doubling");
  EXPECT_EQ(name(Collective::Allreduce, 1, without), "recursive_doubling");
  EXPECT_EQ(name(Collective::Barrier, 0, with), "board");
  EXPECT_EQ(name(Collective::Barrier, 0, without), "dissemination");
  EXPECT_EQ(name(Collective::Allreduce, 1, with.turned(1)), "board");
  EXPECT_EQ(name(Collective::Allreduce, 1, with.of(std::vector<Rank>{0, 1})), "recursive_doubling");
}

TEST(Registry, ABoardServesOnlyThoseWhoShareOneAndOnlySoMuch) {
  const auto refusal = [](std::size_t count, const Hosts& hosts) {
    return std::string(select_algorithm(call_of(Collective::Allreduce, "board", count), hosts).status().message());
  };
  EXPECT_NE(refusal(1, Hosts(4)).find("allreduce board: these ranks share no board"), std::string::npos);
  const Hosts two_hosts = Hosts(std::vector<Rank>{0, 1}).with_board();
  EXPECT_NE(refusal(1, two_hosts).find("share no board"), std::string::npos);
  EXPECT_EQ(refusal(8 << 20, Hosts(4).with_board()), "");
  EXPECT_EQ(refusal((8 << 20) + 1, Hosts(4).with_board()),
            "allreduce board of 8388609 elements of f32; allowed are 8388608 at most");
}

TEST(Registry, MediumAllreducesHalveAndDoubleOnPowersOfTwo) {
  EXPECT_EQ((*select_algorithm(call_of(Collective::Allreduce, "", 16 << 10), 8))->name, "halving_doubling");
  EXPECT_EQ((*select_algorithm(call_of(Collective::Allreduce, "", 16 << 10), 6))->name, "ring");
}

TEST(Registry, AllreducesOfSeveralEvenHostsGoInTwoLevels) {
  const Hosts even(std::vector<Rank>{0, 0, 1, 1}), uneven(std::vector<Rank>{0, 0, 0, 1});
  const Hosts alone(std::vector<Rank>{0, 1, 2, 3});
  const auto name = [](std::size_t count, const Hosts& hosts) {
    return (*select_algorithm(call_of(Collective::Allreduce, "", count), hosts))->name;
  };
  EXPECT_EQ(name(1 << 20, even), "two_level");
  EXPECT_EQ(name(16 << 10, even), "two_level");
  EXPECT_EQ(name(10, even), "recursive_doubling");
  EXPECT_EQ(name(1 << 20, uneven), "ring");
  EXPECT_EQ(name(1 << 20, alone), "ring");
}

TEST(Registry, LongAllreducesOfOneHostReadDirectly) {
  const auto name = [](std::size_t bytes, const Hosts& hosts) {
    return (*select_algorithm(call_of(Collective::Allreduce, "", bytes / sizeof(float)), hosts))->name;
  };
  constexpr std::size_t kib = 1 << 10;
  EXPECT_EQ(name(64 * kib, 3), "ring");
  EXPECT_EQ(name(64 * kib + 4, 3), "direct");
  EXPECT_EQ(name(64 * kib, 4), "halving_doubling");
  EXPECT_EQ(name(64 * kib + 4, 4), "direct");
  EXPECT_EQ(name(256 * kib - 4, 16), "halving_doubling") << "the pieces are short";
  EXPECT_EQ(name(256 * kib, 16), "direct");
  EXPECT_EQ(name(256 * kib, 2), "halving_doubling");
  EXPECT_EQ(name(256 * kib + 4, 2), "direct");
  EXPECT_EQ(name(64 << 20, 2), "direct");
  EXPECT_EQ(name(64 << 20, Hosts(std::vector<Rank>{0, 1})), "ring");
}

TEST(Registry, SmallAllreducesPreferFewMessagesAndLargeOnesFewBytes) {
  EXPECT_EQ((*select_algorithm(call_of(Collective::Allreduce, "", 10), 4))->name, "recursive_doubling");
  EXPECT_EQ(
      (*select_algorithm(call_of(Collective::Allreduce, "", 1 << 20), Hosts(std::vector<Rank>{0, 1, 2, 3})))->name,
      "ring");
}

TEST(Registry, ManyRanksThatShareProcessorsTakeAlgorithmsOfFewTurns) {
  const auto name = [](std::size_t count, const Hosts& hosts, std::uint32_t processors) {
    const std::vector<std::uint32_t> each(static_cast<std::size_t>(hosts.size()), processors);
    return (*select_algorithm(call_of(Collective::Allreduce, "", count), hosts.with_processors(each)))->name;
  };
  EXPECT_EQ(name(10, 5, 4), "star");
  EXPECT_EQ(name((64 << 10) / sizeof(float), 8, 2), "star");
  EXPECT_EQ(name((64 << 10) / sizeof(float) + 1, 8, 2), "halving_doubling");
  EXPECT_EQ(name((64 << 10) / sizeof(float) + 1, 7, 2), "direct");
  EXPECT_EQ(name(1 << 20, 8, 2), "direct");
  EXPECT_EQ(name(1 << 20, 8, 8), "direct");
  EXPECT_EQ(name(10, 5, 5), "recursive_doubling") << "each rank has a processor";
  EXPECT_EQ(name(10, 4, 2), "recursive_doubling") << "the star is not quicker for so few ranks";
  EXPECT_EQ(name(10, Hosts(std::vector<Rank>{0, 0, 0, 1, 1}), 1), "recursive_doubling") << "one rank is another host's";
}

TEST(Registry, ALimitOfSizeIsTheLargestOneThatFits) {
  const auto name = [](std::size_t bytes) {
    const Hosts hosts(std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7});
    return (*select_algorithm(call_of(Collective::Allreduce, "", bytes / sizeof(float)), hosts))->name;
  };
  constexpr std::size_t few = 16 << 10, more = 1 << 20;
  EXPECT_EQ(name(few), "recursive_doubling");
  EXPECT_EQ(name(few + sizeof(float)), "halving_doubling");
  EXPECT_EQ(name(more), "halving_doubling");
  EXPECT_EQ(name(more + sizeof(float)), "ring");
}

TEST(Registry, CallsThatSkipGetAnAlgorithmThatCountsTheirStepsOrARatioTheBestOne) {
  const Hosts even(std::vector<Rank>{0, 0, 1, 1});
  const auto name = [&](const Skip& skip, const Hosts& hosts) {
    Call call = call_of(Collective::Allreduce, "");
    call.options.method = lacuna::skip(skip);
    MethodState state;
    call.options.state = &state;
    const auto selected = select_algorithm(call, hosts);
    return selected ? name_of(call, **selected) : selected.status().message();
  };
  EXPECT_EQ(name({.steps = 3}, even), "skip_ring");
  EXPECT_EQ(name({.ratio = 0.5}, even), "skip_two_level");
  EXPECT_EQ(name({.ratio = 0.5}, 4), "skip_ring");
  EXPECT_EQ(name({.steps = 1, .mode = SkipMode::Shuffled}, even), "skip_ring");
  EXPECT_EQ(name({.ratio = 0.5, .mode = SkipMode::Shuffled}, even), "skip_ring");
  EXPECT_EQ(name({.feedback = true}, 4), "skip_ring") << "what was kept comes in";
  EXPECT_EQ(name({}, 4), "recursive_doubling");
  for (Collective collective : {Collective::ReduceScatter, Collective::Allgather}) {
    Call call = call_of(collective, "");
    call.options.method = lacuna::skip({.steps = 1, .incomplete = true});
    EXPECT_EQ(name_of(call, **select_algorithm(call, even)), "skip_ring");
  }
}

TEST(Registry, ACallThatSkipsTakesAnotherPreferenceOnlyIfThatCanSkip) {
  Call call = call_of(Collective::Allreduce, "");
  test::skip_in(call)->steps = 1;
  for (const char* either : {"skip_double_tree", "double_tree"}) {
    EXPECT_EQ(name_of(call, **select_algorithm(call, 4, either)), "skip_double_tree");
  }
  EXPECT_EQ(name_of(call, **select_algorithm(call, 4, "recursive_doubling")), "skip_ring");
}

TEST(Registry, SkippedStepsAreRefusedByAlgorithmsThatSkipNone) {
  Call call = call_of(Collective::Allreduce, "recursive_doubling");
  test::skip_in(call)->steps = 1;
  const Status refused = select_algorithm(call, 4).status();
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_NE(refused.message().find("allreduce recursive_doubling does not serve the method skip; there are: ring, "),
            std::string::npos)
      << refused.message();
  test::skip_in(call)->steps = 0;
  EXPECT_TRUE(select_algorithm(call, 4)) << "nothing is asked for";
}

}  // namespace
}  // namespace lacuna
