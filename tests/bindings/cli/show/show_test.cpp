#include "bindings/cli/show/show.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bindings/cli/run/results_fixture.hpp"
#include "tests/bindings/cli/run/run_fixture.hpp"

namespace lacuna::cli {
namespace {

TEST(Show, AsCsvIsALineForEachEvaluation) {
  checkpoint::RunResults results = sample_results(1);
  results.methods[1].columns.push_back({.name = "xi", .values = {0.5, 0.25}});
  EXPECT_EQ(results_as_csv(results),
            "method,seed,step,epochs,seconds,waited_seconds,payload_bytes,training_loss,test_accuracy,xi\n"
            "\"half, \"\"new\"\"\",1,5,0.25,10,5,1000000000,1.5,0.425,\n"
            "\"half, \"\"new\"\"\",1,10,0.5,20,5,2000000000,0.5,0.85,\n"
            "ring,1,5,0.25,20,10,1000000000,1.5,0.4375,0.5\n"
            "ring,1,10,0.5,40,10,2000000000,0.5,0.875,0.25\n");
}

TEST(Show, AsJsonHasAllNumbersWithUnits) {
  const nlohmann::json json = nlohmann::json::parse(results_as_json(sample_results(2)));
  EXPECT_EQ(json.at("provenance").at("name"), "sample");
  ASSERT_EQ(json.at("methods").size(), 4u);
  const nlohmann::json& ring = json.at("methods").at(3);
  EXPECT_EQ(ring.at("label"), "ring");
  EXPECT_EQ(ring.at("seed"), 2);
  EXPECT_EQ(ring.at("dense"), 1);
  EXPECT_EQ(ring.at("step"), (std::vector<int>{5, 10}));
  const nlohmann::json& seconds = ring.at("columns").at("seconds");
  EXPECT_EQ(seconds.at("unit"), "seconds");
  EXPECT_EQ(seconds.at("values"), (std::vector<double>{20, 40}));
  EXPECT_EQ(seconds.at("by_rank"), (std::vector<std::vector<double>>{{20, 20}, {40, 40}}));
  EXPECT_FALSE(ring.at("columns").at("test_accuracy").contains("by_rank"));
  EXPECT_EQ(json.at("summary").at(1).at("seconds_deviation"), 4);
}

class ShowCommand : public RunTest {};

TEST_F(ShowCommand, PrintsTheTableOfTheRun) {
  const Outcome ran = run("shown", {.run = "steps = 5"});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const std::string file = folder_ / "shown" / "r.h5";
  const Outcome table = lacuna({"show", file}), csv = lacuna({"show", file, "--csv"}),
                json = lacuna({"show", file, "--json"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(ran.output.find("\n\n" + table.output + "\nresults: "), std::string::npos) << table.output;
  EXPECT_EQ(lines_of(csv.output).size(), 3u) << csv.output;
  EXPECT_EQ(nlohmann::json::parse(json.output).at("methods").size(), 2u);
}

TEST_F(ShowCommand, WhatIsNoResultFileIsRefused) {
  std::ofstream(folder_ / "no.h5") << "nothing";
  for (const char* command : {"show", "plot"}) {
    EXPECT_EQ(lacuna({command, folder_ / "no.h5"}).exit_code, 1);
    EXPECT_EQ(lacuna({command, folder_ / "missing.h5"}).exit_code, 1);
    EXPECT_EQ(lacuna({command}).exit_code, 2);
  }
  EXPECT_EQ(lacuna({"show", folder_ / "no.h5", "--csv", "--json"}).exit_code, 2);
}

}  // namespace
}  // namespace lacuna::cli
