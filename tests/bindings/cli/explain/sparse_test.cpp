#include "bindings/cli/explain/sparse.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "algorithms/phases/predictions.hpp"
#include "algorithms/registry/registry.hpp"

namespace lacuna::cli {
namespace {

Hosts alone(Rank size) {
  std::vector<Rank> names;
  for (Rank rank = 0; rank < size; ++rank) names.push_back(rank);
  return Hosts(names);
}

ExplainOptions asked(const std::string& method, Rank size, std::size_t elements) {
  return {.bytes = 4 * elements, .hosts = alone(size), .method = *method_options(method)};
}

SparseCost cost(const ExplainOptions& options, const char* algorithm) {
  Call call{.collective = options.collective, .count = options.bytes / 4};
  call.options.method = options.method;
  MethodState state;
  call.options.state = &state;
  const auto found = sparse_cost(options, call, *options.method.method()->find(call.collective, algorithm));
  EXPECT_TRUE(found);
  return found.value_or(SparseCost());
}

TEST(SparseCost, HasTheEntriesThatTheMethodSendsOrThoseThatThereAre) {
  ExplainOptions options = asked("topk:density=0.02", 8, 1'000'000);
  EXPECT_EQ(cost(options, "sparse_split").entries, 20000);
  EXPECT_NEAR(cost(options, "sparse_split").result, 1e6 * (1 - std::pow(0.98, 8)), 1);
  options.density = 0.005;
  EXPECT_EQ(cost(options, "sparse_split").entries, 5000);
  options.fill_in = 0.5;
  EXPECT_NEAR(cost(options, "sparse_split").result, 5000 * std::sqrt(8), 1);
}

TEST(SparseCost, OfWhatIsGatheredHasTheEntriesOfAllBlocks) {
  ExplainOptions options = asked("topk:density=0.02", 8, 1'000'000);
  options.collective = Collective::Allgather;
  EXPECT_EQ(cost(options, "sparse_allgather").result, 8 * 20000);
}

TEST(SparseCost, OfWhatDropsSumsHasTheEntriesThatAreLeftAndTheLongestWay) {
  const ExplainOptions options = asked("topk:k=1000,format=coordinates", 8, 1'000'000);
  const SparseCost tree = cost(options, "gtopk");
  EXPECT_EQ(tree.result, 1000);
  EXPECT_TRUE(tree.drops);
  EXPECT_DOUBLE_EQ(tree.bytes, 2.0 * 7 / 8 * (16 + 8 * 1000));
  EXPECT_DOUBLE_EQ(tree.path_bytes, 6.0 * (16 + 8 * 1000));
  const SparseCost ring = cost(asked("topk:k=1000,capped=1", 8, 1'000'000), "sparse_ring");
  EXPECT_EQ(ring.result, 1000);
  EXPECT_TRUE(ring.drops);
  EXPECT_FALSE(cost(options, "sparse_ring").drops);
}

TEST(SparseCost, StandsBesideTheDenseRing) {
  for (Rank size : {2, 4, 8}) {
    const SparseCost got = cost(asked("topk:density=0.01", size, 1 << 20), "sparse_ring");
    EXPECT_EQ(got.dense_bytes, 8.0 * (1 << 20) * (size - 1) / size);
    EXPECT_EQ(got.steps, 2 * (size - 1));
    EXPECT_EQ(got.dense_steps, 2 * (size - 1));
  }
}

TEST(SparseCost, AnAllgatherOfCoordinatesSendsMoreThanTheDenseRingFromOnePthOn) {
  for (Rank size : {2, 4, 8, 16}) {
    const SparseCost got = cost(asked("topk:density=0.01,format=coordinates", size, 1 << 20), "sparse_allgather");
    EXPECT_NEAR(got.dense_density * size, 1, 0.001) << size;
  }
}

TEST(SparseCost, TheDenseCallWinsAtItsDensityAndNotBelow) {
  for (const char* algorithm : {"sparse_allgather", "sparse_split", "sparse_ring", "sparse_doubling"}) {
    const double from = cost(asked("topk:density=1", 8, 1 << 18), algorithm).dense_density;
    for (const auto& [density, dense] : {std::pair(0.98 * from, false), {std::min(1.02 * from, 1.0), true}}) {
      ExplainOptions options = asked("topk:density=1", 8, 1 << 18);
      options.density = density;
      const SparseCost got = cost(options, algorithm);
      EXPECT_EQ(got.bytes >= got.dense_bytes, dense) << algorithm << " " << density;
    }
  }
}

TEST(SparseCost, OfPlacesThatEachHasDrawnARingOfCoordinatesIsNeverTheLeast) {
  for (Rank size : {4, 8, 16, 64}) {
    for (double share : {0.8, 1.2}) {  // times the density from which on an allgather sends more than the dense ring
      const std::string method = fmt::format("topk:density={},format=coordinates", share / size);
      const ExplainOptions options = asked(method, size, 1 << 22);
      const SparseCost gather = cost(options, "sparse_allgather"), ring = cost(options, "sparse_ring");
      EXPECT_EQ(gather.bytes < gather.dense_bytes, share < 1) << size;
      EXPECT_GT(ring.bytes, std::min(gather.bytes, gather.dense_bytes)) << size;
      EXPECT_GT(ring.bytes, cost(options, "sparse_split").bytes) << size;
    }
  }
}

TEST(SparseCost, OfPlacesThatRanksShareASplitIsTheLeastAndARingBeatsTheAllgather) {
  for (Rank size : {4, 8, 16, 64}) {
    ExplainOptions options = asked("topk:density=0.01,format=coordinates", size, 1 << 22);
    options.fill_in = 0.75;
    const double ring = cost(options, "sparse_ring").bytes, gather = cost(options, "sparse_allgather").bytes;
    EXPECT_LT(cost(options, "sparse_split").bytes, std::min(ring, gather)) << size;
    EXPECT_EQ(ring < gather, size >= 6) << size;
  }
}

/// A method that sends blocks of 256 elements to ranks that add them up, and gets those of the result back, knows its
/// cost from the blocks that are not zero: those of one rank, and those of all.
SparseCost cost_of_blocks(ExplainOptions options, double density, const std::string& pattern) {
  const auto bytes = [](const ExpectedPart& part) {
    const double others = part.size - 1;
    return 1024 * others / part.size * (part.blocks_of(1, 256) + part.blocks_of(part.size, 256));
  };
  const auto path = [](const ExpectedPart& part) {
    return 1024 * std::max(part.blocks_of(1, 256), part.blocks_of(part.size, 256));
  };
  Predictions predictions;
  predictions.bytes = bytes;
  predictions.path_bytes = path;
  options.density = density;
  options.pattern = *pattern_options(pattern);
  Call call{.collective = options.collective, .count = options.bytes / 4};
  call.options.method = options.method;
  MethodState state;
  call.options.state = &state;
  MethodAlgorithm blocks = *options.method.method()->find(call.collective, "sparse_split");
  blocks.predictions = &predictions;
  const auto found = sparse_cost(options, call, blocks);
  EXPECT_TRUE(found);
  return found.value_or(SparseCost());
}

TEST(SparseCost, OfBlocksIsKnownFromTheDensityOfBlocksAndOfTheirUnion) {
  constexpr double bytes = 4 << 20;
  for (double density : {0.6, 0.4, 0.2, 0.1, 0.04, 0.02, 0.01}) {
    for (Rank size : {2, 4, 8}) {
      const ExplainOptions options = asked("topk:density=1", size, 1 << 20);
      const double joint = 1 - std::pow(1 - density, size);
      const SparseCost got = cost_of_blocks(options, density, "blocks:256");
      EXPECT_NEAR(got.path_bytes, joint * bytes, 1e-6 * bytes);
      EXPECT_NEAR(got.bytes, (size - 1.0) / size * (density + joint) * bytes, 1e-6 * bytes);
      EXPECT_NEAR(cost_of_blocks(options, density, "overlap").path_bytes, bytes * (1 - std::pow(1 - density, 256)),
                  1e-6 * bytes);
      const double rows = cost_of_blocks(options, density, "rows:256").path_bytes;
      EXPECT_GT(rows, 1.02 * density * bytes);
      EXPECT_LT(rows, joint * bytes) << "ranks share frequent rows";
    }
    EXPECT_NEAR(cost_of_blocks(asked("topk:density=1", 2, 1 << 20), density, "uniform").path_bytes / bytes,
                1 - std::pow(1 - density, 512), 1e-6);
  }
}

TEST(SparseCost, OfAPatternKnowsTheEntriesOfTheUnion) {
  ExplainOptions options = asked("topk:density=0.02", 8, 1 << 20);
  const double entries = cost(options, "sparse_split").entries;
  const auto result = [&](const std::string& pattern) {
    options.pattern = *pattern_options(pattern);
    return cost(options, "sparse_split").result / entries;
  };
  EXPECT_NEAR(result("overlap"), 1, 1e-6);
  EXPECT_NEAR(result("powerlaw:0.75"), std::pow(8, 0.75), 1e-6);
  EXPECT_NEAR(result("blocks:64"), result("uniform"), 1e-6);
  EXPECT_GT(result("rows:64"), 2);
  EXPECT_LT(result("rows:64"), 0.8 * result("blocks:64"));
}

std::string explained(const ExplainOptions& options) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(explain(options), 0);
  return testing::internal::GetCapturedStdout();
}

bool has(const std::string& text, const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); }

TEST(Explain, OfASparseMethodShowsExpectedBytesBesideTheDenseOnes) {
  const std::string text = explained(asked("topk:k=1024,format=coordinates", 4, 1 << 20));
  // The call has 3 messages of 16 + 8 * 1024 bytes, and the dense ring 6 MiB. It takes 60 us, and 24624 bytes at 125
  // MB/s.
  EXPECT_TRUE(has(text, "\n> sparse_allgather +1 +5 +24.05 KiB +6 MiB +99.6% +0.2500 +217 us\n")) << text;
  EXPECT_TRUE(has(text, "\n  sparse_doubling sends least; each rank sends 1024 entries, the result has 4090\n"))
      << text;
}

TEST(Explain, SaysWhyAMethodTakesAnAlgorithmAndWhichAreQuickerByThePrediction) {
  const std::string text = explained(asked("topk:density=0.01", 8, 4 << 20));
  EXPECT_TRUE(has(text, ": sparse_split\n  the method topk chooses it: on more than 4 ranks, selections have "))
      << text;
  EXPECT_TRUE(has(text, "\n> sparse_split .* 15.2 ms\n")) << text;
  EXPECT_TRUE(has(text,
                  "\n  sparse_doubling is predicted to be quicker \\(14.02 ms\\); the choice follows its rule and "
                  "weighs no prediction; -a sparse_doubling asks for it\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "\n  gtopk is predicted to be quicker \\(12.21 ms\\), but its result lacks sums, which are sent "
                  "later; -a gtopk asks for it\n"))
      << text;
  ExplainOptions tree = asked("topk:density=0.01", 8, 4 << 20);
  tree.algorithm = "gtopk";
  EXPECT_FALSE(has(explained(tree), "quicker"));
}

TEST(Explain, PrintsTheSameFiguresAsJson) {
  ExplainOptions options = asked("topk:density=0.01", 8, 4 << 20);
  options.json = true;
  const auto json = nlohmann::json::parse(explained(options));
  EXPECT_EQ(json.at("algorithm"), "sparse_split");
  EXPECT_EQ(json.at("size_bytes"), 16 << 20);
  EXPECT_EQ(json.at("rate_bytes_per_second"), 125e6);
  for (const auto& row : json.at("algorithms")) {
    EXPECT_EQ(row.at("taken"), row.at("algorithm") == "sparse_split") << row;
    EXPECT_EQ(row.at("drops_sums"), row.at("algorithm") == "gtopk") << row;
    EXPECT_GT(row.at("predicted_seconds"), 0.01) << row;
    EXPECT_EQ(row.at("dense_rank_bytes"), 28 << 20) << row;
  }
  options.method = {};
  EXPECT_EQ(nlohmann::json::parse(explained(options)).at("algorithms").at(0).at("busiest_rank_bytes"), 28 << 20);
}

TEST(Explain, SaysHowEntriesAreTakenToLie) {
  ExplainOptions options = asked("topk:density=0.01", 4, 1 << 20);
  EXPECT_TRUE(has(explained(options), "\n  entries lie where each rank has drawn them\n"));
  options.pattern = *pattern_options("rows:16");
  EXPECT_TRUE(has(explained(options), "\n  entries lie as in the pattern rows:16\n"));
  options.fill_in = 0.5;
  EXPECT_TRUE(has(explained(options), "\n  s ranks have s.0.5 times the entries of one\n"));
}

TEST(Explain, SaysWhereTheDenseCallSendsLess) {
  const std::string text = explained(asked("topk:density=0.99", 8, 1 << 20));
  EXPECT_TRUE(has(text, "\n  the dense call sends least; ")) << text;
}

TEST(Explain, OfASparseMethodSaysWhatAnAlgorithmRefuses) {
  ExplainOptions options = asked("topk:density=0.01,capped=1", 8, 1 << 20);
  options.algorithm = "sparse_ring";
  const std::string text = explained(options);
  EXPECT_TRUE(has(text, "\n  sparse_split +topk.capped: only sparse_ring")) << text;
}

}  // namespace
}  // namespace lacuna::cli
