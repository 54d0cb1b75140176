#include <limits>

#include "tests/algorithms/sketch/sketch_rig.hpp"

// Sums that are found in a sketch one after the other.
namespace lacuna::test {
namespace {

/// Makes runs whose union grows and shrinks, each of which must be exact.
template <class T>
void expect_exact(Rank size, const std::string& options, bool in_place) {
  SketchRig rig(size, drawn_options(static_cast<std::uint64_t>(size)));
  unsigned seed = 1;
  for (double share : {0.05, 0.05, 0.06, 0.9, 0.01, 0.0, 0.1}) {
    const auto inputs = drawn_inputs<T>(static_cast<std::size_t>(size), 700, share, seed++);
    const auto expected = sum_of_all(inputs);
    const auto outputs = rig.run(inputs, {.algorithm = "peel", .options = options, .in_place = in_place});
    for (const auto& output : outputs) ASSERT_EQ(output, expected) << options << " P=" << size << " run " << seed;
    const auto elements = static_cast<double>(
        union_of(inputs, options.find("block=5") == std::string::npos ? std::size_t{1} : std::size_t{5}));
    EXPECT_EQ(rig.measure("union_elements"), elements);
    EXPECT_EQ(rig.measure("decoded") + rig.measure("reduced"), elements) << "each element comes from somewhere";
  }
}

TEST(PeelSums, AreExactForEachNumberOfRanksInPlaceAndOutOfPlace) {
  for (Rank size = 1; size <= 9; ++size) {
    expect_exact<std::int32_t>(size, "", size % 2 == 0);
    expect_exact<std::int64_t>(size, "block=5", size % 2 == 1);
    expect_exact<double>(size, "cells_per_key=2", size % 2 == 0);
  }
}

TEST(PeelSums, WhatIsStuckIsToldAndCompletedExactly) {
  for (const char* options : {"cells_per_key=1.15", "cells_per_key=0.5", "cells_per_key=0.9,block=5"}) {
    for (bool in_place : {false, true}) expect_exact<std::int32_t>(3, options, in_place);
  }
  SketchRig rig(4);
  const auto inputs = drawn_inputs<std::int32_t>(4, 20'000, 0.1, 3);
  rig.run(inputs, {"peel", "cells_per_key=1.15"});  // learns how large the union is
  const auto outputs = rig.run(inputs, {"peel", "cells_per_key=1.15"});
  for (const auto& output : outputs) ASSERT_EQ(output, sum_of_all(inputs));
  EXPECT_GT(rig.measure("unpeeled"), 0.4 * static_cast<double>(union_of(inputs)));
  EXPECT_EQ(rig.measure("unpeeled"), rig.measure("reduced"));
}

TEST(PeelSums, AreCompleteWithOneAndAQuarterCellsForAKey) {
  SketchRig rig(3);
  for (unsigned run = 0; run < 4; ++run) {
    const auto inputs = drawn_inputs<std::int32_t>(3, 100'000, 0.04, 9);
    const auto outputs = rig.run(inputs, {"peel"});
    ASSERT_EQ(outputs[1], sum_of_all(inputs));
    if (run == 0) continue;
    EXPECT_EQ(rig.measure("unpeeled"), 0);
    EXPECT_EQ(rig.measure("decoded"), static_cast<double>(union_of(inputs)));
    EXPECT_LE(rig.measure("peel_rounds"), 45);
    EXPECT_EQ(rig.measure("inexact"), 0);
  }
}

TEST(PeelSums, OfFloatsAreNearTheOrderedSumAndSayThatTheyAreInexact) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Arrays<float> inputs(4, std::vector<float>(5000));
  for (auto& one : inputs) {
    for (std::size_t i = 0; i < 5000; i += 1 + random() % 9) one[i] = normal(random) * std::exp(2 * normal(random));
  }
  SketchRig rig(4);
  rig.run(inputs, {"peel"});
  const auto outputs = rig.run(inputs, {"peel"});
  for (const auto& output : outputs) EXPECT_EQ(output, outputs[0]);
  EXPECT_LE(relative_error(outputs[0], sum_of_all(inputs)), 1e-6);
  EXPECT_EQ(rig.measure("inexact"), 1);
  EXPECT_GT(rig.measure("decoded"), 0);
}

TEST(PeelSums, OfAveragesAreDivided) {
  SketchRig rig(4);
  const auto inputs = drawn_inputs<double>(4, 1000, 0.1, 6);
  auto expected = sum_of_all(inputs);
  for (double& value : expected) value /= 4;
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(rig.run(inputs, {.algorithm = "peel", .reduction = Reduction::Avg})[3], expected);
  }
  EXPECT_GT(rig.measure("decoded"), 0);
}

TEST(PeelSums, WithInfinitiesAndNaNsAreThoseOfTheDenseCall) {
  SketchRig rig(2);
  auto inputs = drawn_inputs<float>(2, 3000, 0.2, 7);
  inputs[0][100] = std::numeric_limits<float>::infinity();
  inputs[1][2000] = std::numeric_limits<float>::quiet_NaN();
  rig.run(inputs, {"peel"});
  const auto outputs = rig.run(inputs, {"peel"});
  const auto expected = sum_of_all(inputs);
  for (std::size_t i = 0; i < 3000; ++i) {
    ASSERT_TRUE(outputs[0][i] == expected[i] || (std::isnan(outputs[0][i]) && std::isnan(expected[i]))) << i;
  }
  EXPECT_GE(rig.measure("unpeeled"), 2);
}

TEST(PeelSums, OfZerosHaveTheSignsOfTheDenseCall) {
  for (const char* options : {"", "block=4"}) {
    SketchRig rig(2);
    auto inputs = drawn_inputs<float>(2, 3000, 0.2, 7);
    inputs[0][100] = inputs[1][100] = -0.0f;
    inputs[0][101] = inputs[0][102] = -0.0f;
    inputs[1][101] = 0;
    inputs[1][102] = 5;
    inputs[0][103] = 2;
    inputs[1][103] = -2;
    rig.run(inputs, {.algorithm = "peel", .options = options});
    const auto outputs = rig.run(inputs, {.algorithm = "peel", .options = options});
    EXPECT_EQ(outputs[0], sum_of_all(inputs)) << options;
    EXPECT_TRUE(outputs[0][100] == 0 && std::signbit(outputs[0][100])) << options;
    EXPECT_FALSE(std::signbit(outputs[0][101]) || std::signbit(outputs[0][103])) << options;
    EXPECT_GT(rig.measure("decoded"), 0) << options;
  }
}

TEST(PeelSums, OfOtherPlacesThanBeforeHoldNothingOfThem) {
  SketchRig rig(3);
  for (std::size_t run = 0; run < 5; ++run) {
    auto inputs = drawn_inputs<std::int64_t>(3, 900, 0.3, 8);
    for (auto& one : inputs) {
      for (std::size_t i = 0; i < 900; ++i) {
        if (i % 5 != run) one[i] = 0;
      }
    }
    for (const auto& output : rig.run(inputs, {"peel"})) ASSERT_EQ(output, sum_of_all(inputs)) << run;
  }
}

}  // namespace
}  // namespace lacuna::test
