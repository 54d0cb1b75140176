#include <gtest/gtest.h>

#include <regex>

#include "bindings/cli/perf/perf.hpp"

namespace lacuna::cli {
namespace {

bool has(const std::string& text, const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); }

PerfRow row_of(const std::string& algorithm, double out_of_place, double in_place) {
  PerfRow row;
  row.algorithm = algorithm;
  row.out_of_place.bus_bandwidth = out_of_place;
  row.in_place.bus_bandwidth = in_place;
  for (PerfFigures* figures : {&row.out_of_place, &row.in_place}) {
    figures->microseconds = 1;
    figures->wrong = 0;
  }
  return row;
}

TEST(PerfReport, AveragesAreThoseOfOneAlgorithm) {
  EXPECT_EQ(perf_footer({row_of("ring", 1, 2), row_of("ring", 3, 4)}),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5000\n");
  EXPECT_EQ(perf_footer({row_of("tree", 1, 2), row_of("ring", 10, 30), row_of("tree", 3, 4)}),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5000 of tree\n"
            "# Avg bus bandwidth    : 20.0000 of ring\n");
}

TEST(PerfReport, AverageLeavesOutWhatWasNotMeasured) {
  PerfRow message = row_of("-", 5, 0);
  message.in_place = {};
  message.out_of_place.wrong = 3;
  EXPECT_EQ(perf_footer({message}), "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 5.0000\n");
}

TEST(PerfReport, RanksThatSharedAProcessorAreSaid) {
  PerfRow row = row_of("ring", 1, 2);
  row.in_place.shares_processor = true;
  EXPECT_EQ(perf_footer({row, row_of("ring", 3, 4)}),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5000\n"
            "# In 1 of 4 measurements ranks shared a processor, which takes time. `lacuna launch --bind` keeps them "
            "apart.\n");
}

TEST(PerfReport, LongTimesHaveTheirOwnUnits) {
  const auto line = [](double microseconds) {
    PerfRow row = row_of("ring", 0, 0);
    row.out_of_place.microseconds = microseconds;
    return perf_line({}, row);
  };
  EXPECT_TRUE(has(line(12.345), " ring +12.3[45] ")) << line(12.345);
  EXPECT_TRUE(has(line(99999.99), " ring +99999.99 ")) << line(99999.99);
  EXPECT_TRUE(has(line(100000), " ring +100.0ms ")) << line(100000);
  EXPECT_TRUE(has(line(9999949), " ring +9999.9ms ")) << line(9999949);
  EXPECT_TRUE(has(line(12345678), " ring +12.35s ")) << line(12345678);
  EXPECT_EQ(line(12.345).size(), line(12345678).size()) << "the columns stay where they are";
}

}  // namespace
}  // namespace lacuna::cli
