#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

/// Writes a result of `lacuna perf -J` with one row of these times.
std::string result_file(const std::string& name, double out_of_place, double in_place, int wrong = 0, int size = 8,
                        const std::string& method = "") {
  const std::string path = testing::TempDir() + name + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << fmt::format(
      R"({{"collective": "allreduce", "ranks": 2, "config": {{"iterations": {}, "method": "{}"}}, "results": [{{"size_bytes": {}, "dtype": "f32", "reduction": "sum",
          "algorithm": "ring", "out_of_place": {{"time_us": {}, "wrong_elements": {}}}, "in_place": {{"time_us": {}}}}}]}})",
      size, method, size, out_of_place, wrong, in_place);
  return path;
}

TEST(Command, CompareFailsWhenATimeGrewBeyondTheToleranceOrAResultIsWrong) {
  const std::string before = result_file("before", 10, 20), slower = result_file("slower", 10, 25);
  const std::string wrong = result_file("wrong", 10, 20, 3), other = result_file("other", 10, 20, 0, 16);
  EXPECT_EQ(lacuna({"compare", before, before}).exit_code, 0);
  EXPECT_EQ(lacuna({"compare", slower, before}).exit_code, 0);
  const Outcome grown = lacuna({"compare", before, slower});
  EXPECT_EQ(grown.exit_code, 1);
  EXPECT_EQ(count(grown.output, "in_place +20 us +25 us +1.25  slower\n"), 1u) << grown.output;
  EXPECT_EQ(count(grown.output, "1 of 2 are worse; the tolerance is 10 %"), 1u) << grown.output;
  EXPECT_EQ(lacuna({"compare", before, slower, "--tolerance", "0.3"}).exit_code, 0);
  const auto json = nlohmann::json::parse(lacuna({"compare", before, slower, "--json"}).output);
  EXPECT_EQ(json.at("rows").size(), 2u);
  EXPECT_EQ(json.at("rows").at(0).at("verdict"), "slower") << json;
  EXPECT_EQ(json.at("rows").at(0).at("ratio"), 1.25);
  EXPECT_EQ(json.at("rows").at(1).at("verdict"), "ok");
  EXPECT_EQ(json.at("worse"), 1);
  EXPECT_EQ(lacuna({"compare", before, slower, "-t", "25%"}).exit_code, 0);
  EXPECT_EQ(lacuna({"compare", before, slower, "-t", "24%"}).exit_code, 1);
  EXPECT_EQ(lacuna({"compare", before, wrong}).exit_code, 1);
  EXPECT_EQ(lacuna({"compare", before, other}).exit_code, 2);
  const std::string skipping = result_file("skipping", 10, 20, 0, 8, "skip:steps=2");
  const Outcome differs = lacuna({"compare", before, skipping});
  EXPECT_EQ(differs.exit_code, 2);
  EXPECT_EQ(count(differs.output, "'method' is \"\" in one and \"skip:steps=2\" in the other"), 1u) << differs.output;
  std::ofstream(other) << "{}";
  const Outcome broken = lacuna({"compare", before, other});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_EQ(count(broken.output, "is no result of `lacuna perf -J`"), 1u) << broken.output;
  for (const std::string& path : {before, slower, wrong, other, skipping}) std::remove(path.c_str());
}

TEST(Command, CompareFailsWhenRowsAreMissingUnlessTheyMay) {
  const auto write = [](const std::string& name, const std::vector<int>& sizes) {
    const std::string path = testing::TempDir() + name + std::to_string(::getpid()) + ".json";
    std::string rows;
    for (int size : sizes) {
      rows += fmt::format(
          R"({}{{"size_bytes": {}, "dtype": "f32", "algorithm": "ring", "out_of_place": {{"time_us": 10}}}})",
          rows.empty() ? "" : ", ", size);
    }
    std::ofstream(path) << fmt::format(R"({{"collective": "allreduce", "ranks": 2, "results": [{}]}})", rows);
    return path;
  };
  const std::string before = write("all", {8, 16, 32}), after = write("fewer", {8, 32});
  const Outcome missing = lacuna({"compare", before, after});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(count(missing.output, "\n +16 .* 10 us +- +-  missing\n"), 1u) << missing.output;
  EXPECT_EQ(count(missing.output, "# 1 of 3 are missing in .*; --allow-missing passes over them\n"), 1u)
      << missing.output;
  const Outcome allowed = lacuna({"compare", before, after, "--allow-missing"});
  EXPECT_EQ(allowed.exit_code, 0);
  EXPECT_EQ(count(allowed.output, "# 1 of 3 are missing in .*[^s]\n"), 1u) << allowed.output;
  EXPECT_EQ(lacuna({"compare", after, before}).exit_code, 0) << "more rows are no loss";
  for (const std::string& path : {before, after}) std::remove(path.c_str());
}

}  // namespace
}  // namespace lacuna::cli
