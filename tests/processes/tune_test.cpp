#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/processes/executed.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::test {
namespace {

TEST(Tune, WritesTimesThatExplainPredictsFrom) {
  const Folder folder;
  const std::string path = (folder.path() / "tuned.json").string();
  Executed job({LACUNA_COMMAND, "launch", "--raw", "-n", "2", LACUNA_COMMAND, "tune", "-o", path}, {});
  ASSERT_EQ(job.wait(), 0) << job.output();
  const auto tuned = nlohmann::json::parse(std::ifstream(path));
  const double seconds = tuned.at("messages").back().at("seconds"), bytes = tuned.at("messages").back().at("bytes");
  Executed explained({LACUNA_COMMAND, "explain", "allreduce", "-b", fmt::format("{:.0f}", bytes), "--hosts", "2", "-a",
                      "recursive_doubling", "--tuned", path, "-J"},
                     {});
  ASSERT_EQ(explained.wait(), 0) << explained.output();
  const auto algorithms = nlohmann::json::parse(explained.output()).at("algorithms");
  const auto row = std::find_if(algorithms.begin(), algorithms.end(), [](const auto& one) { return one.at("taken"); });
  EXPECT_DOUBLE_EQ(row->at("predicted_seconds"), seconds) << "one message of all data";
}

TEST(Tune, NeedsTwoRanks) {
  Executed alone({LACUNA_COMMAND, "tune"}, {});
  EXPECT_EQ(alone.wait(), 1);
  EXPECT_NE(alone.output().find("lacuna tune: it needs two ranks or more of one host"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::test
