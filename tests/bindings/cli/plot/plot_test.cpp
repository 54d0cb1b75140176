#include "bindings/cli/plot/plot.hpp"

#include "tests/bindings/cli/run/results_fixture.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

TEST(Plot, DrawsAccuracyAndLossAgainstSecondsAndBytesAndTheShareOfWaiting) {
  const std::string svg = plot_of(sample_results(1), "sample");
  EXPECT_EQ(count(svg, ">test accuracy .%.</text>"), 2u) << svg;
  EXPECT_EQ(count(svg, ">training loss</text>"), 2u);
  EXPECT_EQ(count(svg, ">share of the time that is waiting .%.</text>"), 1u);
  EXPECT_EQ(count(svg, ">seconds</text>"), 3u);
  EXPECT_EQ(count(svg, ">bytes sent per rank</text>"), 2u);
  EXPECT_EQ(count(svg, "<polyline "), 5u * 2u);
}

/// Returns the points of the lines, in order.
std::vector<std::string> points(const std::string& svg) {
  std::vector<std::string> found;
  const std::regex line("points=\"([^\"]*)\"");
  for (std::sregex_iterator i(svg.begin(), svg.end(), line), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

TEST(Plot, LinesAreMeansOverTheSeedsUpToTheLastStepOfAll) {
  checkpoint::RunResults low = sample_results(1), both = low;
  both.methods.push_back(low.methods[0]);
  both.methods.back().seed = 2;
  EXPECT_EQ(points(plot_of(both, "")), points(plot_of(low, ""))) << "the mean of equal seeds is each of them";
  for (double& value : both.methods.back().columns[5].values) value *= 0.9;
  for (double& value : low.methods[0].columns[5].values) value *= 0.95;
  EXPECT_EQ(points(plot_of(both, "")), points(plot_of(low, "")));
  both.methods.back().steps.pop_back();
  for (auto& column : both.methods.back().columns) column.values.pop_back();
  EXPECT_EQ(points(plot_of(both, "")).front().find(' '), std::string::npos)
      << "the second seed has one evaluation only";
}

TEST(Plot, OfNothingIsAPictureTooOfNothing) { EXPECT_EQ(count(plot_of({}, "none"), "<polyline "), 0u); }

class PlotCommand : public RunTest {};

TEST_F(PlotCommand, WritesThePictureBesideTheResultsOrWhereItIsAsked) {
  ASSERT_EQ(run("drawn", {.run = "steps = 6\nevaluate_every = 2\nseeds = [1, 2]"}).exit_code, 0);
  const std::filesystem::path file = folder_ / "drawn" / "r.h5", picture = folder_ / "drawn" / "r.svg";
  const Outcome beside = lacuna({"plot", file}), elsewhere = lacuna({"plot", file, "-o", folder_ / "other.svg"});
  EXPECT_EQ(beside.output, picture.string() + "\n");
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.output;
  EXPECT_EQ(folder_.read("drawn/r.svg"), folder_.read("other.svg"));
  EXPECT_EQ(count(folder_.read("other.svg"), "<polyline "), 5u * 2u);
}

}  // namespace
}  // namespace lacuna::cli
