#include "bindings/cli/shared/chart.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bindings/cli/shared/chart_axis.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

std::string texts_of(const ChartAxis& axis) {
  std::string all;
  for (const ChartAxis::Tick& tick : axis.ticks) all += tick.text + " ";
  return all;
}

constexpr ChartScale logarithmic = ChartScale::Logarithmic, from_zero = ChartScale::FromZero;

/// Returns a chart of a line with these values at 0, 1, 2 ...
Chart chart_of(ChartScale scale, const std::vector<double>& values) {
  ChartLine line{.label = "a", .x = {}, .values = values};
  for (std::size_t i = 0; i < values.size(); ++i) line.x.push_back(static_cast<double>(i));
  return {.title = "", .x_title = "", .scale = scale, .lines = {line}};
}

ChartSheet sheet_of(const std::vector<ChartLine>& lines, ChartScale scale = from_zero) {
  return {.title = "a & b", .charts = {{"<title>", "step", scale, lines}}};
}

TEST(Chart, ALinearAxisBeginsAtZeroAndHasRoundTicks) {
  const ChartAxis axis = y_axis(chart_of(from_zero, {1e6, 2.9e6}));
  EXPECT_EQ(texts_of(axis), "0 1M 2M 3M ");
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_DOUBLE_EQ(axis.ticks.back().place, axis.place(3e6));
  EXPECT_LT(axis.place(2.9e6), 1);
}

TEST(Chart, AnAxisFromTheLeastValueShowsSmallDifferences) {
  const ChartAxis axis = y_axis(chart_of(ChartScale::FromLeast, {86, 88}));
  EXPECT_EQ(texts_of(axis), "86 86.5 87 87.5 88 ");
  EXPECT_GT(axis.place(86), 0);
  EXPECT_LT(axis.place(86), 0.1);
  EXPECT_DOUBLE_EQ(y_axis(chart_of(ChartScale::FromLeast, {0, 88})).low, 0);
}

TEST(Chart, LinesHavePlacesOfTheirOwn) {
  const ChartAxis axis = x_axis({"", "", from_zero, {{"a", {2, 3}, {1, 1}}, {"b", {0, 1}, {1, 1}}}});
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_DOUBLE_EQ(axis.place(3), 1);
}

TEST(Chart, ALogarithmicAxisHasPowersOfTen) {
  const ChartAxis axis = y_axis(chart_of(logarithmic, {0.002, 0.5}));
  EXPECT_EQ(texts_of(axis), "1e-3 1e-2 1e-1 1e0 ");
  EXPECT_DOUBLE_EQ(axis.place(1e-3), 0);
  EXPECT_DOUBLE_EQ(axis.place(1), 1);
  EXPECT_NEAR(axis.place(0.1), 2.0 / 3, 1e-12);
}

TEST(Chart, OnALogarithmicAxisZerosLieOnALineOfTheirOwn) {
  const ChartAxis axis = y_axis(chart_of(logarithmic, {0, 0.5}));
  EXPECT_EQ(texts_of(axis), "0 1e-1 1e0 ");
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_GT(axis.place(0.1), 0);
}

TEST(Chart, OnALogarithmicAxisWhatIsFarBelowLiesOnTheLowestLine) {
  const ChartAxis axis = y_axis(chart_of(logarithmic, {3e-8, 0.5}));
  EXPECT_EQ(texts_of(axis), "<1e-4 1e-4 1e-3 1e-2 1e-1 1e0 ");
  EXPECT_DOUBLE_EQ(axis.place(3e-8), 0);
  EXPECT_DOUBLE_EQ(axis.place(9e-5), 0);
  EXPECT_GT(axis.place(1.1e-4), 0);
}

TEST(Chart, AxesOfNothingAndOfOneValueAreWhole) {
  for (const ChartScale scale : {from_zero, logarithmic, ChartScale::FromLeast}) {
    for (const std::vector<double>& values : {std::vector<double>(), {0}, {1}, {HUGE_VAL}}) {
      const ChartAxis axis = y_axis(chart_of(scale, values));
      EXPECT_LT(axis.low, axis.high);
      EXPECT_GE(axis.ticks.size(), 2u);
    }
  }
  EXPECT_DOUBLE_EQ(x_axis({"", "", from_zero, {{"a", {7}, {1}}}}).place(7), 0.5);
  EXPECT_LT(x_axis(chart_of(from_zero, {})).low, x_axis(chart_of(from_zero, {})).high);
}

TEST(Chart, EveryLineIsDrawnAndNamed) {
  const std::string svg = to_svg(sheet_of({{"one", {0, 1, 2}, {1, 2, 3}}, {"two", {0, 1, 2}, {3, 2, 1}}}));
  EXPECT_EQ(count(svg, "<polyline "), 2u);
  EXPECT_EQ(count(svg, ">one</text>"), 1u);
  EXPECT_EQ(count(svg, ">two</text>"), 1u);
}

TEST(Chart, WhatIsNotFiniteIsAGap) {
  const double gap = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = to_svg(sheet_of({{"one", {0, 1, 2}, {1, gap, 3}}}));
  EXPECT_EQ(count(svg, "<polyline "), 2u);
  EXPECT_EQ(count(svg, "nan"), 0u) << svg;
}

TEST(Chart, TextsCannotBreakThePicture) {
  const std::string svg = to_svg(sheet_of({{"a<b>&c\n", {0, 1, 2}, {1e-9, 1, 1}}}, logarithmic));
  EXPECT_EQ(count(svg, "a &amp; b"), 1u);
  EXPECT_EQ(count(svg, "&lt;title&gt;"), 1u);
  EXPECT_EQ(count(svg, "a&lt;b&gt;&amp;c </text>"), 1u);
  EXPECT_EQ(count(svg, ">&lt;1e-4<"), 1u) << "a tick";
}

}  // namespace
}  // namespace lacuna::cli
