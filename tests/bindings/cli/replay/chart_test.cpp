#include "bindings/cli/replay/chart.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bindings/cli/replay/chart_axis.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

std::string texts_of(const ChartAxis& axis) {
  std::string all;
  for (const ChartAxis::Tick& tick : axis.ticks) all += tick.text + " ";
  return all;
}

ChartSheet sheet_of(const std::vector<ChartLine>& lines, bool logarithmic = false) {
  return {.title = "a & b", .x_title = "step", .x = {0, 1, 2}, .charts = {{"<title>", logarithmic, lines}}};
}

TEST(Chart, ALinearAxisBeginsAtZeroAndHasRoundTicks) {
  const ChartAxis axis = y_axis({"", false, {{"a", {1e6, 2.9e6}}}});
  EXPECT_EQ(texts_of(axis), "0 1M 2M 3M ");
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_DOUBLE_EQ(axis.ticks.back().place, axis.place(3e6));
  EXPECT_LT(axis.place(2.9e6), 1);
}

TEST(Chart, ALogarithmicAxisHasPowersOfTen) {
  const ChartAxis axis = y_axis({"", true, {{"a", {0.002, 0.5}}}});
  EXPECT_EQ(texts_of(axis), "1e-3 1e-2 1e-1 1e0 ");
  EXPECT_DOUBLE_EQ(axis.place(1e-3), 0);
  EXPECT_DOUBLE_EQ(axis.place(1), 1);
  EXPECT_NEAR(axis.place(0.1), 2.0 / 3, 1e-12);
}

TEST(Chart, OnALogarithmicAxisZerosLieOnALineOfTheirOwn) {
  const ChartAxis axis = y_axis({"", true, {{"a", {0, 0.5}}}});
  EXPECT_EQ(texts_of(axis), "0 1e-1 1e0 ");
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_GT(axis.place(0.1), 0);
}

TEST(Chart, OnALogarithmicAxisWhatIsFarBelowLiesOnTheLowestLine) {
  const ChartAxis axis = y_axis({"", true, {{"a", {3e-8, 0.5}}}});
  EXPECT_EQ(texts_of(axis), "<1e-4 1e-4 1e-3 1e-2 1e-1 1e0 ");
  EXPECT_DOUBLE_EQ(axis.place(3e-8), 0);
  EXPECT_DOUBLE_EQ(axis.place(9e-5), 0);
  EXPECT_GT(axis.place(1.1e-4), 0);
}

TEST(Chart, AxesOfNothingAndOfOneValueAreWhole) {
  for (const bool logarithmic : {false, true}) {
    for (const std::vector<double>& values : {std::vector<double>(), {0}, {1}, {HUGE_VAL}}) {
      const ChartAxis axis = y_axis({"", logarithmic, {{"a", values}}});
      EXPECT_LT(axis.low, axis.high);
      EXPECT_GE(axis.ticks.size(), 2u);
    }
  }
  EXPECT_DOUBLE_EQ(x_axis({7}).place(7), 0.5);
}

TEST(Chart, EveryLineIsDrawnAndNamed) {
  const std::string svg = to_svg(sheet_of({{"one", {1, 2, 3}}, {"two", {3, 2, 1}}}));
  EXPECT_EQ(count(svg, "<polyline "), 2u);
  EXPECT_EQ(count(svg, ">one</text>"), 1u);
  EXPECT_EQ(count(svg, ">two</text>"), 1u);
}

TEST(Chart, WhatIsNotFiniteIsAGap) {
  const double gap = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = to_svg(sheet_of({{"one", {1, gap, 3}}}));
  EXPECT_EQ(count(svg, "<polyline "), 2u);
  EXPECT_EQ(count(svg, "nan"), 0u) << svg;
}

TEST(Chart, TextsCannotBreakThePicture) {
  const std::string svg = to_svg(sheet_of({{"a<b>&c\n", {1e-9, 1, 1}}}, true));
  EXPECT_EQ(count(svg, "a &amp; b"), 1u);
  EXPECT_EQ(count(svg, "&lt;title&gt;"), 1u);
  EXPECT_EQ(count(svg, "a&lt;b&gt;&amp;c </text>"), 1u);
  EXPECT_EQ(count(svg, ">&lt;1e-4<"), 1u) << "a tick";
}

}  // namespace
}  // namespace lacuna::cli
