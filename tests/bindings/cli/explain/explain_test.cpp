#include "bindings/cli/explain/explain.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <regex>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/perf/perf.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace cli {
namespace {

Cost cost(Collective collective, const char* name, const Hosts& hosts, std::size_t count) {
  Call call{.collective = collective};
  call.options.algorithm = name;
  return cost_of(**select_algorithm(call, hosts), hosts, count, Dtype::F32);
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
    expect_cost(even, (on_each > 1 ? 2 : 0) + 2 * (count - 1), 2 * (ranks - 1) * 4096 / ranks, 2 * (ranks - 1) * 4096);
    EXPECT_EQ(even.host_bytes, 2 * (hosts - 1) * 4096 / hosts);
    EXPECT_EQ(even.maps_copies, on_each > 1);
    EXPECT_FALSE(cost(Collective::Allreduce, "direct", Hosts(names), 1 << 10).maps_copies);
  }
  const Cost uneven = cost(Collective::Allreduce, "two_level", Hosts(std::vector<Rank>{0, 0, 0, 0, 0, 1, 1, 2}), 300);
  EXPECT_EQ(uneven.steps, 2 + 3 + 2);  // up a tree of 5, around 3 leaders and back to the first, down the tree
  EXPECT_EQ(uneven.host_bytes, 2u * 2 * 1200 / 3);
  EXPECT_EQ(uneven.total_bytes, 2u * 2 * 1200 + 2u * 5 * 1200);
  EXPECT_FALSE(uneven.maps_copies);
}

TEST(Cost, TheBusiestHostMayBeOneThatReceives) {
  const Hosts pairs(std::vector<Rank>{0, 0, 1, 1, 2, 2});
  EXPECT_EQ(cost(Collective::Gather, "linear", pairs, 100).host_bytes, 4u * 400);
  EXPECT_EQ(cost(Collective::Scatter, "linear", pairs, 100).host_bytes, 4u * 400);
}

TEST(PredictedSeconds, BetweenHostsAreTheChainAndTheBusiestHost) {
  Cost cost{.steps = 6, .rank_bytes = 5000, .host_bytes = 3000, .total_bytes = 9000};
  ExplainOptions options{.hosts = Hosts(std::vector<Rank>{0, 1, 2}), .latency = 1e-5, .rate = 1e6};
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 6e-5 + 3e-3);
  options.inside = {.ranks = 2, .processors = 2, .messages = {{{1000, 1}}}};
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 6e-5 + 3e-3) << "no message stays inside a host";
  options.hosts = Hosts(std::vector<Rank>{0, 0, 1});
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 5) << "the host of two ranks moves 5000 bytes at 1000 a second";
  options.inside.copies = {{{1000, 0.5}}};
  cost.maps_copies = true;
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 2.5) << "others read copies, at 2000 bytes a second";
}

TEST(PredictedSeconds, InsideAHostAreTheLongestOfTheChainTheBusiestRankAndAllMessagesOnAllProcessors) {
  Cost cost{.steps = 4, .rank_messages = 8, .rank_bytes = 4000, .total_bytes = 8000, .total_messages = 8};
  ExplainOptions options{.hosts = 2, .processors = 4};
  options.inside = {.ranks = 2, .processors = 2, .messages = {{{1000, 0.5}, {4000, 1}}}, .rows = {{{1000, 0.1}}}};
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 4 * 0.5);
  cost.rank_messages = 20;
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 20 * 0.5 / 2);
  options.hosts = 8;
  cost.total_messages = 64;
  cost.total_bytes = 64000;
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 64 * 0.5 / 4);
  options.processors = 16;
  EXPECT_DOUBLE_EQ(predicted_seconds(cost, options), 20 * 0.5 / 2) << "each of the 8 ranks has a processor";
  EXPECT_EQ(predicted_seconds({}, options), 0);
}

TEST(PredictedSeconds, OnABoardAreThoseOfItsRows) {
  const Cost all = cost(Collective::Allreduce, "board", Hosts(8).with_board(), 250);
  expect_cost(all, 1, 7 * 1000, 8 * 7 * 1000);
  ExplainOptions options{.hosts = Hosts(8).with_board(), .processors = 2};
  options.inside = {.ranks = 2, .processors = 2, .messages = {{{1000, 0.5}}}, .rows = {{{1000, 0.1}}}};
  EXPECT_DOUBLE_EQ(predicted_seconds(all, options), 8 * 7 * 0.1 / 2);
  options.processors = 8;
  EXPECT_DOUBLE_EQ(predicted_seconds(all, options), 7 * 0.1);
  options.inside.ranks = 4;
  EXPECT_DOUBLE_EQ(predicted_seconds(all, options), 7 * 0.1 / 2) << "two ranks shared a processor";
}

TEST(PredictedSeconds, OfDirectAreThoseOfMessagesThatAreReadFromCopies) {
  const Cost all = cost(Collective::Allreduce, "direct", 4, 1000);
  EXPECT_EQ(all.rank_messages, 12) << "2 rounds, in each of which a rank sends 3 messages and receives 3";
  ExplainOptions options{.hosts = 4, .processors = 4};
  options.inside = {.ranks = 4, .processors = 4, .messages = {{{1000, 0.5}}}, .rows = {}, .copies = {{{1000, 0.1}}}};
  EXPECT_DOUBLE_EQ(predicted_seconds(all, options), 6 * 0.1);
}

// Each of 4 ranks must at least move its bytes through the memory, which no machine of today does at 1 TB/s.
TEST(PredictedSeconds, InsideAHostAreNeverLessThanTheMemoryNeeds) {
  const ExplainOptions options{.hosts = 4};
  for (const std::size_t count : {1u << 10, 1u << 20, 1u << 28}) {
    for (const char* name : {"ring", "recursive_doubling", "direct"}) {
      const Cost all = cost(Collective::Allreduce, name, 4, count);
      EXPECT_GT(predicted_seconds(all, options), static_cast<double>(all.rank_bytes) / 1e12) << name;
    }
  }
}

const Algorithm& skipping(const char* name, Collective collective = Collective::Allreduce) {
  Call call{.collective = collective};
  call.options.algorithm = name;
  return **select_algorithm(call, 2);
}

/// Returns a structure that leaves out that many rounds.
Structure without(int rounds) { return {.parameters = LeftOut{.rounds = rounds}}; }

TEST(Cost, OfSkippingIsThatOfThePublishedFormulas) {
  const std::size_t count = 1 << 10;
  for (Rank p : {2, 4, 8}) {
    const auto ranks = static_cast<std::uint64_t>(p);
    for (int s = 0; s < p; ++s) {
      const std::uint64_t sent = (2 * (ranks - 1) - static_cast<std::uint64_t>(s)) * 4096 / ranks;
      expect_cost(cost_of(skipping("skip_ring"), p, count, Dtype::F32, without(s)), 2 * (p - 1) - s, sent,
                  ranks * sent);
      const Contributors there = contributors_of(skipping("skip_ring"), p, count, without(s));
      EXPECT_EQ(there.fewest, p - s);
      EXPECT_EQ(there.mean, p - s);
    }
    for (int s = 0; 1 << s <= p; ++s) {
      EXPECT_EQ(contributors_of(skipping("skip_halving_doubling"), p, count, without(s)).fewest, p >> s);
    }
  }
  EXPECT_EQ(contributors_of(skipping("skip_ring", Collective::Allgather), 4, count, without(1)).fewest, 0);
  EXPECT_EQ(contributors_of(skipping("skip_halving_doubling"), 5, 1000, without(1)).fewest, 2);
  EXPECT_EQ(contributors_of(skipping("skip_halving_doubling"), 5, 1000, without(1)).mean, 2.5)
      << "2 of 4 pieces have 3";
}

std::string explained(const ExplainOptions& options) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(explain(options), 0);
  return testing::internal::GetCapturedStdout();
}

TEST(Explain, OfACallThatSkipsShowsWhatEachAlgorithmLeavesOut) {
  const Hosts alone(std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7});
  const std::string text = explained({.hosts = alone, .method = lacuna::skip({.steps = 4, .mode = SkipMode::Random})});
  EXPECT_NE(text.find("8 ranks of 8 hosts: skip_ring\n  the method skip chooses it: the steps that are asked for are "
                      "rounds of the ring\n\n"
                      "  skip:steps=4,mode=random\n"),
            std::string::npos)
      << text;
  const auto has = [&](const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); };
  EXPECT_TRUE(has("\n> skip_ring +4 +10 +4 +1.25 MiB +10 MiB +28.6% +4 +4.00 +10.69 ms\n")) << text;
  EXPECT_TRUE(has("\n  skip_halving_doubling +skip.steps is 4, must be 0 .. 3 on 8 ranks")) << text;
  EXPECT_TRUE(has("\n  skip_torus +4 +4 +4 ")) << text;
  EXPECT_TRUE(has("\n  skip_torus is predicted to be quicker .*; -a skip_torus asks for it\n")) << text;
  EXPECT_EQ(text.find(" ring "), std::string::npos) << "those that serve have the method's names";
  EXPECT_EQ(text.find(" recursive_doubling "), std::string::npos) << "what can't skip is left out";
}

TEST(Explain, ARatioGivesEachAlgorithmItsOwnS) {
  const std::string text =
      explained({.hosts = Hosts(std::vector<Rank>{0, 0, 1, 1, 2, 2, 3, 3}), .method = lacuna::skip({.ratio = 0.5})});
  const auto has = [&](const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); };
  EXPECT_TRUE(has("\n> skip_two_level +2 +6 +2 ")) << text;
  EXPECT_TRUE(has("\n  skip_ring +4 ")) << text;
  EXPECT_TRUE(has("\n  skip_halving_doubling +1 ")) << text;
}

TEST(Explain, OfACallThatNamesItsAlgorithmSaysSoByEitherName) {
  for (const char* name : {"torus", "skip_torus"}) {
    const std::string text = explained({.algorithm = name, .method = lacuna::skip({.steps = 1})});
    EXPECT_NE(text.find(": skip_torus\n  it was asked for\n"), std::string::npos) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex("\n> skip_torus +1 "))) << text;
  }
}

TEST(Explain, MarksTheAlgorithmThatIsTakenAndSaysWhy) {
  const Outcome explained = lacuna({"explain", "allreduce", "-b", "64K", "-p", "8"});
  EXPECT_EQ(explained.exit_code, 0);
  EXPECT_EQ(count(explained.output, "64 KiB on 8 ranks of 8 hosts: halving_doubling\n +up to 1 MiB on 2\\^k ranks"),
            1u);
  EXPECT_EQ(count(explained.output, "\n> halving_doubling +6 +112 KiB +112 KiB +896 KiB +1.038 ms"), 1u)
      << explained.output;
  EXPECT_EQ(count(explained.output, "\n  ring +14 "), 1u) << explained.output;
  const Outcome asked = lacuna({"explain", "allreduce", "-a", "ring"});
  EXPECT_EQ(count(asked.output, "4 ranks of 4 hosts: ring\n +it was asked for"), 1u) << asked.output;
  const std::string two = lacuna({"explain", "allreduce", "--hosts", "4,4"}).output;
  EXPECT_EQ(count(two, "8 ranks of 2 hosts: two_level\n +any size on several hosts with as many ranks each"), 1u)
      << two;
  EXPECT_EQ(count(two, "\n> two_level +4 +1.75 MiB +1 MiB +14 MiB +8.469 ms"), 1u) << two;
  EXPECT_EQ(lacuna({"explain", "allreduce", "--rate", "125e6", "--latency", "20e-6"}).output,
            lacuna({"explain", "allreduce", "--rate", "1gbit", "--latency", "20us"}).output);
  for (Collective collective : all_collectives) {
    EXPECT_EQ(count(lacuna({"explain", std::string(to_string(collective)), "-p", "5"}).output, "\n> "), 1u);
  }
}

TEST(Explain, SaysWhereTheRuleHoldsThatHasChosen) {
  const auto chosen = [](const std::vector<std::string>& words) {
    std::vector<std::string> command = {"explain", "allreduce"};
    command.insert(command.end(), words.begin(), words.end());
    const std::string text = lacuna(command).output;
    return text.substr(0, text.find("\n\n"));
  };
  EXPECT_EQ(chosen({"-b", "1K", "--hosts", "8"}),
            "allreduce of 1 KiB on 8 ranks of 1 host: board\n  up to 4 KiB on ranks that share a board: one look at "
            "memory that all ranks share");
  EXPECT_EQ(chosen({"-b", "32K", "--hosts", "8", "--processors", "2"}),
            "allreduce of 32 KiB on 8 ranks of 1 host: star\n  up to 64 KiB on more than 4 ranks of a host with fewer "
            "processors: the fewest messages");
  EXPECT_EQ(chosen({"-b", "8K", "--hosts", "2"}),
            "allreduce of 8 KiB on 2 ranks of 1 host: recursive_doubling\n  up to 16 KiB: so little that the number of "
            "rounds counts");
}

/// Builds a ring over a copy of the data in another type.
template <Dtype element>
void ring_of(GraphBuilder& g) {
  const Region copy = g.buffer({.element = element});
  g.replace(Buffer::Input, copy.buffer);
  g.replace(Buffer::Output, copy.buffer);
  ring_allreduce(g);
}
template <Dtype element>
constexpr Algorithm other_ring = {.collective = Collective::Allreduce,
                                  .name = "other_ring",
                                  .summary = "a test's",
                                  .symmetric = true,
                                  .build = ring_of<element>};

TEST(Cost, OfABufferOfAnotherTypeIsThatTypesBytes) {
  const std::size_t count = 1 << 10;
  for (const Dtype call : {Dtype::F32, Dtype::F64}) {
    expect_cost(cost_of(other_ring<Dtype::F16>, 4, count, call), 6, 3 * count, 12 * count);
    expect_cost(cost_of(other_ring<Dtype::U8>, 4, count, call), 6, 3 * count / 2, 6 * count);
    expect_cost(cost_of(other_ring<Dtype::I64>, 4, count, call), 6, 12 * count, 48 * count);
  }
}

/// Has no functions for rounds or bytes.
constexpr MethodAlgorithm served[] = {{&allreduce_ring, "served", "a test's", nullptr}};
const Method numberless = {
    .name = "numberless",
    .summary = "a test's",
    .algorithms = served,
    .make = option::make<int>,
    .is_on = [](const void*) { return true; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "ring"; },
    .plan =
        [](const PlanRequest& request, Plan& plan) {
          PartPlan part{.data = {0, request.call.count}};
          part.lossy = true;
          add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
        },
};

TEST(Explain, OfAMethodWithoutNumbersHasNoColumnOfTheFirst) {
  const std::string text = explained({.method = MethodOptions(numberless, std::make_shared<int>(0))});
  const auto has = [&](const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); };
  EXPECT_TRUE(has("\n  algorithm +rounds +saved +busiest rank")) << text;
  EXPECT_TRUE(has("\n> served +6 +0 +1.5 MiB +6 MiB ")) << text;
}

TEST(PerfReport, OfAMethodWithoutNumbersHasNoColumnOfTheFirst) {
  PerfOptions options;
  options.method = MethodOptions(numberless, std::make_shared<int>(0));
  EXPECT_TRUE(std::regex_search(perf_line(options, {}), std::regex(" 0 +0\\.0 +-\n?$"))) << perf_line(options, {});
}

}  // namespace
}  // namespace cli
}  // namespace lacuna
