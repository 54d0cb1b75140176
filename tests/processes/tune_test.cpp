#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/processes/executed.hpp"
#include "tests/support/environment.hpp"
#include "transports/board.hpp"

namespace lacuna::test {
namespace {

/// What explain predicts for an allreduce of so many bytes by this algorithm on two ranks of a host.
double predicted_seconds(const std::string& path, const char* algorithm, double bytes) {
  Executed explained({LACUNA_COMMAND, "explain", "allreduce", "-b", fmt::format("{:.0f}", bytes), "--hosts", "2", "-a",
                      algorithm, "--tuned", path, "-J"},
                     {});
  EXPECT_EQ(explained.wait(), 0) << explained.output();
  const auto algorithms = nlohmann::json::parse(explained.output()).at("algorithms");
  const auto row = std::find_if(algorithms.begin(), algorithms.end(), [](const auto& one) { return one.at("taken"); });
  return row->at("predicted_seconds");
}

TEST(Tune, WritesTimesThatExplainPredictsFrom) {
  if (!Board::shared_memory(2).memory) GTEST_SKIP() << "this system has no memory that other processes can map";
  const Folder folder;
  const std::string path = (folder.path() / "tuned.json").string();
  Executed job({LACUNA_COMMAND, "launch", "--raw", "-n", "2", LACUNA_COMMAND, "tune", "-o", path}, {});
  ASSERT_EQ(job.wait(), 0) << job.output();
  const auto tuned = nlohmann::json::parse(std::ifstream(path));
  for (const auto& [curve, algorithm] : {std::pair("messages", "recursive_doubling"), {"rows", "board"}}) {
    const auto last = tuned.at(curve).back();
    EXPECT_DOUBLE_EQ(predicted_seconds(path, algorithm, last.at("bytes")), last.at("seconds").get<double>())
        << "each rank sends all data once by " << algorithm;
  }
  const auto half = tuned.at("copies").back();
  EXPECT_DOUBLE_EQ(predicted_seconds(path, "direct", 2 * half.at("bytes").get<double>()),
                   2 * half.at("seconds").get<double>())
      << "each rank sends half of the data twice";
}

TEST(Tune, OfAHostWithoutABoardTakesItsMessagesForRows) {
  const Folder folder;
  const std::string path = (folder.path() / "tuned.json").string();
  Executed job({LACUNA_COMMAND, "launch", "--raw", "-n", "2", LACUNA_COMMAND, "tune", "-o", path},
               {{"LACUNA_BOARD", "off"}});
  ASSERT_EQ(job.wait(), 0) << job.output();
  const auto tuned = nlohmann::json::parse(std::ifstream(path));
  EXPECT_EQ(tuned.at("rows"), tuned.at("messages"));
}

TEST(Tune, NeedsTwoRanks) {
  Executed alone({LACUNA_COMMAND, "tune"}, {});
  EXPECT_EQ(alone.wait(), 1);
  EXPECT_NE(alone.output().find("lacuna tune: it needs two ranks or more of one host"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::test
