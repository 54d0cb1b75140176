#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "bindings/cli/launch/binding.hpp"
#include "runtime/values/processors.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

TEST(Command, PerfShowsPercentilesAndMeasuresGroups) {
  const std::string path = testing::TempDir() + "percentiles" + std::to_string(::getpid()) + ".json";
  const Outcome measured = lacuna({"launch", "-n", "4", "--", LACUNA_COMMAND, "perf", "allgather", "-e", "64", "-f",
                                   "8", "--groups", "2", "--percentiles", "-J", path});
  EXPECT_EQ(measured.exit_code, 0) << measured.output;
  EXPECT_EQ(count(measured.output, "allgather on 2 ranks"), 1u) << measured.output;
  EXPECT_EQ(count(measured.output, "payload/rank +least +p50 +p95 +p99\n"), 1u) << measured.output;
  std::ifstream file(path);
  std::stringstream json;
  json << file.rdbuf();
  EXPECT_EQ(count(json.str(), "\"p95\": "), 4u) << json.str();
  std::remove(path.c_str());
  EXPECT_NE(lacuna({"perf", "barrier", "--groups", "2"}).exit_code, 0);
}

TEST(Command, PerfSaysWhenRanksShareAProcessorThatNeedNot) {
  const BoundTo bound({processors_of_thread().front()});
  const Outcome measured =
      lacuna({"launch", "-n", "2", "--", LACUNA_COMMAND, "perf", "allreduce", "-b", "8", "-e", "8", "-n", "3"});
  EXPECT_EQ(measured.exit_code, 0) << measured.output;
  const bool could_be_apart = usable_processors() >= 2;
  EXPECT_EQ(count(measured.output, "In 2 of 2 measurements ranks shared a processor"), could_be_apart ? 1u : 0u)
      << measured.output;
}

}  // namespace
}  // namespace lacuna::cli
