#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "tests/processes/executed.hpp"

namespace lacuna::test {
namespace {

/// The fields of a line of the table: size count type redop algorithm, then time algbw busbw #wrong twice, payload.
struct Row {
  double size, count;
  std::string type, redop, algorithm;
  double figures[8];
  double payload;
};

/// Reads a time as microseconds. Without a unit it has microseconds. With "ms" it has one digit after the point, and
/// with "s" two.
double microseconds_of(const std::string& text) {
  if (text.ends_with("ms")) return 1e3 * std::stod(text);
  return text.ends_with("s") ? 1e6 * std::stod(text) : std::stod(text);
}
double rounding_of(double microseconds) { return microseconds >= 1e5 ? microseconds / 1000 : 0.006; }

std::vector<Row> rows_of(const std::string& output) {
  std::istringstream stream(output);
  std::vector<Row> rows;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Row row{};
    fields >> row.size >> row.count >> row.type >> row.redop >> row.algorithm;
    for (std::size_t i = 0; i < std::size(row.figures); ++i) {
      std::string figure;
      fields >> figure;
      row.figures[i] = i % 4 == 0 ? microseconds_of(figure) : std::stod(figure);
    }
    fields >> row.payload;
    EXPECT_FALSE(fields.fail()) << line;
    rows.push_back(row);
  }
  return rows;
}

std::string perf(int ranks, const std::vector<std::string>& arguments, int expected = 0) {
  std::vector<std::string> command = {LACUNA_COMMAND,        "launch",       "--raw", "-n",
                                      std::to_string(ranks), LACUNA_COMMAND, "perf"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Executed job(command, {});
  EXPECT_EQ(job.wait(), expected) << job.output();
  return job.output();
}

TEST(Perf, SaysWhatLacksForBuffersOnADeviceOrMeasuresThem) {
  Executed job({LACUNA_COMMAND, "launch", "--raw", "-n", "2", LACUNA_COMMAND, "perf", "allreduce", "-b", "1K", "-e",
                "1K", "-n", "2", "--device", "cuda"},
               {});
  const std::string said = job.wait() == 0 ? "# buffers on a device: " : "lacuna perf: rank 0: --device cuda: ";
  EXPECT_NE(job.output().find(said), std::string::npos) << job.output();
}

TEST(Perf, RefusesMappedMemoryForBuffersOnADevice) {
  const auto output = perf(2, {"allreduce", "--device", "cuda", "--memory", "mapped"}, 1);
  EXPECT_NE(output.find("--memory mapped is for buffers of the host; --device is cuda"), std::string::npos) << output;
}

TEST(Perf, EveryCollectiveIsRightInMappedMemory) {
  for (Collective collective : all_collectives) {
    const auto output = perf(3, {std::string(to_string(collective)), "-b", "24", "-e", "3000000", "-f", "100", "-n",
                                 "4", "-w", "1", "--memory", "mapped"});
    EXPECT_NE(output.find("# Out of bounds values : 0 OK"), std::string::npos) << output;
    EXPECT_NE(output.find("# buffers in memory that the ranks of a host map"), std::string::npos) << output;
  }
}

TEST(Perf, EveryCollectiveIsRightOnThreeRanks) {
  for (Collective collective : all_collectives) {
    for (Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::I64}) {
      const auto output = perf(3, {std::string(to_string(collective)), "-b", "24", "-e", "300000", "-f", "100", "-n",
                                   "2", "-w", "1", "-d", std::string(to_string(dtype))});
      EXPECT_NE(output.find("# Out of bounds values : 0 OK"), std::string::npos) << output;
      EXPECT_EQ(rows_of(output).size(), moves_data(collective) ? 3u : 1u) << output;
    }
  }
}

TEST(Perf, FiguresFollowFromTimeAndSizeAsInNcclTests) {
  struct Factor {
    std::string collective;
    bool reduces;
    double bus, payload;  // both as shares of the size; a broadcast's root sends to two children
  };
  for (const Factor& factor : {Factor{"allreduce", true, 1.5, 1.5}, Factor{"reduce_scatter", true, 0.75, 0.75},
                               Factor{"allgather", false, 0.75, 0.75}, Factor{"broadcast", false, 1, 2}}) {
    const auto rows = rows_of(perf(4, {factor.collective, "-b", "1M", "-e", "2M", "-n", "3", "-w", "1"}));
    ASSERT_EQ(rows.size(), 2u);
    const double bytes[] = {1 << 20, 2 << 20};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const bool blocks = factor.collective == "reduce_scatter" || factor.collective == "allgather";
      EXPECT_EQ(row.size, bytes[i]) << factor.collective;
      EXPECT_EQ(row.count, bytes[i] / 4 / (blocks ? 4 : 1)) << factor.collective;
      EXPECT_EQ(row.redop, factor.reduces ? "sum" : "none") << factor.collective;
      for (int place : {0, 4}) {
        const double algbw = row.size / row.figures[place] / 1000;  // GB/s from bytes and us
        EXPECT_NEAR(row.figures[place + 1], algbw, 0.006 + algbw * 0.01);
        EXPECT_NEAR(row.figures[place + 2], algbw * factor.bus, 0.006 + algbw * 0.02);
        EXPECT_EQ(row.figures[place + 3], 0) << "#wrong";
      }
      EXPECT_EQ(row.payload, row.size * factor.payload) << factor.collective;
    }
  }
}

TEST(Perf, SkippedStepsShowInThePayload) {
  const auto rows = rows_of(perf(4, {"allreduce", "-b", "64K", "-e", "64K", "-n", "2", "-w", "0", "--algorithm",
                                     "ring,skip_ring", "--method", "skip:steps=2,mode=random"}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].algorithm, "ring");
  EXPECT_EQ(rows[1].algorithm, "skip_ring");
  EXPECT_EQ(rows[0].payload, 65536 * 6 / 4);
  EXPECT_EQ(rows[1].payload, 65536 * (6 - 2) / 4);
}

TEST(Perf, WhatSkippingSavesStandsBehindTheOtherColumns) {
  const std::string path = testing::TempDir() + "lacuna_skips_" + std::to_string(::getpid()) + ".json";
  const std::string output =
      perf(4, {"allreduce", "-b", "64K", "-e", "64K", "-n", "1", "-w", "0", "--algorithm",
               "ring,skip_ring,skip_halving_doubling", "--method", "skip:mode=random,steps=2", "-J", path});
  std::vector<std::vector<std::string>> cells;  // S, rounds saved, percent of the bytes saved, contributors
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    if (line[0] == '#') continue;
    std::istringstream fields(line);
    std::vector<std::string> all;
    for (std::string field; fields >> field;) all.push_back(field);
    ASSERT_EQ(all.size(), 18u) << line;
    cells.emplace_back(all.begin() + 14, all.end());
  }
  using Cells = std::vector<std::string>;
  EXPECT_EQ(cells, (std::vector<Cells>{{"0", "0", "0.0", "-"}, {"2", "2", "33.3", "2.00"}, {"2", "2", "50.0", "1.00"}}))
      << output;
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  EXPECT_EQ(json.at("config").at("method"), "skip:steps=2,mode=random");
  const auto& ring = json.at("results").at(1).at("report");
  EXPECT_EQ(ring.at("rounds_saved"), 2);
  EXPECT_DOUBLE_EQ(ring.at("bytes_saved_share").get<double>(), 1.0 / 3);
  EXPECT_EQ(ring.at("contributors_fewest"), 2);
  EXPECT_EQ(ring.at("contributors_mean"), 2);
  for (const Measure* measure : skip_method.measures) {
    const auto& shown = ring.at("measures").at(std::string(measure->name));
    EXPECT_EQ(shown.at("unit"), to_string(measure->unit)) << measure->name;
    EXPECT_EQ(shown.at("value"), measure == &skip_measure::steps ? 2 : 0) << measure->name;
  }
  EXPECT_EQ(perf(2, {"allreduce", "-b", "8", "-e", "8", "-n", "1"}).find("contrib"), std::string::npos);
}

TEST(Perf, AMethodWithoutAnAlgorithmIsServedByTheOneThatItPrefers) {
  const std::string path = testing::TempDir() + "lacuna_served_" + std::to_string(::getpid()) + ".json";
  for (const char* collective : {"allreduce", "reduce_scatter", "allgather"}) {
    const auto rows = rows_of(perf(4, {collective, "-b", "64K", "-e", "64K", "-n", "1", "-w", "0", "--method",
                                       "skip:steps=1,incomplete=1", "-J", path}));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].algorithm, "skip_ring") << collective;
    const auto json = nlohmann::json::parse(std::ifstream(path));
    EXPECT_EQ(json.at("results").at(0).at("report").at("rounds_saved"), 1) << collective;
  }
  perf(2, {"allreduce", "-b", "8", "-e", "8", "-n", "1", "-J", path});
  const auto json = nlohmann::json::parse(std::ifstream(path));
  EXPECT_EQ(json.at("config").at("method"), "");
  EXPECT_FALSE(json.at("results").at(0).contains("report"));
  std::remove(path.c_str());
}

/// Returns the results of -J of an allreduce of topk on four ranks.
nlohmann::json sparse_results(const std::vector<std::string>& arguments, std::string* output = nullptr) {
  const std::string path = testing::TempDir() + "lacuna_sparse_" + std::to_string(::getpid()) + ".json";
  std::vector<std::string> all = {"allreduce", "-b", "400000", "-e", "400000", "-n", "2", "-w", "1", "-J", path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::string text = perf(4, all);
  if (output) *output = text;
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  return json.at("results");
}

TEST(Perf, SparseInputsThatAreSentWholeAreCheckedBitwise) {
  for (const char* pattern : {"uniform", "overlap", "clustered", "powerlaw:0.75", "blocks:64", "rows:16", "skewed"}) {
    const auto results = sparse_results({"--algorithm", "sparse_allgather,sparse_split,sparse_ring,sparse_doubling",
                                         "--method", "topk:density=0.1", "--density", "0.02", "--pattern", pattern});
    ASSERT_EQ(results.size(), 4u);
    for (const auto& row : results) {
      for (const char* place : {"out_of_place", "in_place"}) {
        EXPECT_EQ(row.at(place).at("wrong_elements"), 0) << pattern << " " << row;
        EXPECT_EQ(row.at(place).at("relative_error"), 0) << pattern << " " << row;
        const double sent = row.at(place).at("payload_bytes"), time = row.at(place).at("time_us");
        EXPECT_NEAR(row.at(place).at("busbw_gb_per_s").get<double>(), sent / time / 1e3, 1e-9) << row;
      }
      EXPECT_NEAR(row.at("report").at("density_in").get<double>(), 0.02, 0.008) << pattern << " " << row;
    }
  }
}

TEST(Perf, TheDensityThatComesOutIsThatOfTheUnion) {
  const auto density_out = [](const char* pattern) {
    const auto results = sparse_results({"--method", "topk:density=1", "--density", "0.02", "--pattern", pattern});
    return results.at(0).at("report").at("density_out").get<double>();
  };
  EXPECT_NEAR(density_out("uniform"), 0.0776, 0.005);
  EXPECT_NEAR(density_out("clustered"), 0.02, 1e-9);
}

TEST(Perf, OneCommandSweepsDensities) {
  const std::vector<double> densities = {1, 0.4, 0.04, 0.01};
  std::string output;
  const auto results = sparse_results({"--method", "topk:density=1", "--algorithm", "sparse_split,ring", "--density",
                                       "1,0.4,0.04,0.01", "--pattern", "rows:16"},
                                      &output);
  ASSERT_EQ(results.size(), 2 * densities.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].at("density"), densities[i / 2]);
    EXPECT_EQ(results[i].at("out_of_place").at("wrong_elements"), 0) << results[i];
    EXPECT_EQ(results[i].at("in_place").at("wrong_elements"), 0) << results[i];
    if (i % 2 == 1) continue;
    EXPECT_NEAR(results[i].at("report").at("density_in").get<double>(), densities[i / 2], 0.015) << results[i];
    if (i == 0) continue;
    EXPECT_LT(results[i].at("payload_bytes_per_rank"), results[i - 2].at("payload_bytes_per_rank"));
  }
  EXPECT_NE(output.find("# 1, 0.4, 0.04, 0.01 of the elements are not zero: rows:16\n"), std::string::npos) << output;
  EXPECT_NE(output.find("payload/rank  density     error"), std::string::npos) << output;
}

TEST(Perf, EachCallInPlaceHasTheInputsOfThePattern) {
  for (const char* method : {"blocks:block=64", "topk:density=1,feedback=0"}) {
    const auto results = sparse_results({"--method", method, "--density", "0.05", "--pattern", "blocks:64"});
    const double expected = results.at(0).at("payload_bytes_per_rank");
    for (const char* place : {"out_of_place", "in_place"}) {
      EXPECT_EQ(results.at(0).at(place).at("payload_bytes"), expected) << method << " " << place;
    }
  }
}

TEST(Perf, WhatALossyMethodLosesIsItsErrorAndNoWrongElement) {
  std::string output;
  const auto results = sparse_results({"--method", "topk:k=1000,feedback=0", "--density", "0.02"}, &output);
  const auto& figures = results.at(0).at("out_of_place");
  EXPECT_FALSE(figures.contains("wrong_elements")) << figures;
  EXPECT_GT(figures.at("relative_error").get<double>(), 0.2) << "half of the entries are lost, the smaller half";
  EXPECT_LT(figures.at("relative_error").get<double>(), 0.7);
  EXPECT_EQ(results.at(0).at("report").at("density_in"), 0.01);
  EXPECT_NE(output.find("N/A"), std::string::npos) << output;
}

TEST(Perf, OneRankAloneLosesWhatItDoesNotSelect) {
  Executed alone({LACUNA_COMMAND, "perf", "allreduce", "-b", "4K", "-e", "4K", "-n", "1", "--method", "topk:k=10"}, {});
  EXPECT_EQ(alone.wait(), 0) << alone.output();
  EXPECT_TRUE(alone.says("N/A")) << alone.output();
}

TEST(Perf, ColumnsOfASparseMethodAreItsErrorDensitiesAndPhases) {
  std::string output;
  const auto results = sparse_results({"--method", "topk:density=1", "--density", "0.02"}, &output);
  EXPECT_NE(output.find("error  dens.in dens.out    bytes   select     pack    merge     wire"), std::string::npos)
      << output;
  const auto& figures = results.at(0).at("out_of_place");
  double phases = 0;
  for (const char* phase : {"select", "pack", "merge"}) {
    EXPECT_GT(figures.at("phases_us").at(phase), 0) << figures;
    phases += figures.at("phases_us").at(phase).get<double>();
  }
  EXPECT_NEAR(figures.at("phases_us").at("wire").get<double>(),
              std::max(0.0, figures.at("time_us").get<double>() - phases), 1e-6);
}

TEST(Perf, OneRankAloneMeasuresItself) {
  Executed alone({LACUNA_COMMAND, "perf", "allreduce", "-b", "8", "-e", "1K", "-f", "4", "-n", "2"}, {});
  EXPECT_EQ(alone.wait(), 0) << alone.output();
  const auto rows = rows_of(alone.output());
  ASSERT_EQ(rows.size(), 4u);
  for (const Row& row : rows) EXPECT_EQ(row.payload, 0);
}

TEST(Perf, SendrecvSendsEachRanksDataToTheNextAlsoBesideALargeAllreduce) {
  const std::string path = testing::TempDir() + "lacuna_sendrecv_" + std::to_string(::getpid()) + ".json";
  const auto output = perf(3, {"sendrecv", "-b", "8", "-e", "1M", "-f", "512", "-n", "5", "--beside", "2M",
                               "--priority", "high", "--percentiles", "-J", path});
  EXPECT_NE(output.find("Out of bounds values : 0 OK"), std::string::npos) << output;
  const auto json = nlohmann::json::parse(std::ifstream(path));
  EXPECT_EQ(json.at("collective"), "sendrecv");
  EXPECT_EQ(json.at("config").at("beside_bytes"), 2 << 20);
  EXPECT_EQ(json.at("config").at("priority"), "high");
  ASSERT_EQ(json.at("results").size(), 2u);
  for (const auto& row : json.at("results")) {
    EXPECT_EQ(row.at("payload_bytes_per_rank"), row.at("size_bytes"));
    EXPECT_EQ(row.at("out_of_place").at("busbw_gb_per_s"), row.at("out_of_place").at("algbw_gb_per_s"));
    EXPECT_FALSE(row.contains("in_place"));
    EXPECT_GT(row.at("beside_started"), 0);
    EXPECT_GT(row.at("out_of_place").at("percentiles_us").at("p50"), 0);
  }
  EXPECT_NE(perf(2, {"sendrecv", "--algorithm", "ring"}, 1).find("neither --algorithm nor --method"),
            std::string::npos);
}

TEST(Perf, UncheckedResultsHaveNoNumberOfWrongElements) {
  Executed alone({LACUNA_COMMAND, "perf", "allreduce", "-e", "8", "-n", "1", "-c", "0"}, {});
  EXPECT_EQ(alone.wait(), 0) << alone.output();
  EXPECT_TRUE(alone.says("N/A")) << alone.output();
}

// The figures are those of one call, also if an iteration has several in flight.
TEST(Perf, TheJsonFileHasTheFiguresOfTheTable) {
  const std::string path = testing::TempDir() + "lacuna_perf_" + std::to_string(::getpid()) + ".json";
  for (const char* in_flight : {"1", "3"}) {
    const auto rows = rows_of(perf(2, {"allreduce", "-b", "1K", "-e", "4K", "-n", "2", "-m", in_flight, "-J", path}));
    std::ifstream file(path);
    const auto json = nlohmann::json::parse(file);
    std::remove(path.c_str());
    EXPECT_EQ(json["versions"]["lacuna"], version());
    EXPECT_EQ(json["config"]["priority"], "normal");
    EXPECT_FALSE(json["config"].contains("root"));
    EXPECT_EQ(json["collective"], "allreduce");
    EXPECT_EQ(json["ranks"], 2);
    EXPECT_EQ(json["hosts"].size(), 2u);
    EXPECT_EQ(json["config"]["iterations"], 2);
    ASSERT_EQ(json["results"].size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& result = json["results"][i];
      EXPECT_EQ(result["size_bytes"], rows[i].size);
      EXPECT_EQ(result["count"], rows[i].count);
      EXPECT_EQ(result["dtype"], rows[i].type);
      EXPECT_EQ(result["payload_bytes_per_rank"], rows[i].payload);
      const double time = result["out_of_place"]["time_us"];
      EXPECT_NEAR(time, rows[i].figures[0], rounding_of(time));
      EXPECT_NEAR(result["in_place"]["busbw_gb_per_s"].get<double>(), rows[i].figures[6], 0.006);
      EXPECT_EQ(result["in_place"]["wrong_elements"], 0);
      EXPECT_EQ(result["in_place"]["payload_bytes"], rows[i].payload) << in_flight << " in flight";
    }
  }
}

TEST(Perf, WithoutANumberOfIterationsItMakesAsManyAsAStableTimeTakes) {
  const std::string path = testing::TempDir() + "lacuna_stable_" + std::to_string(::getpid()) + ".json";
  const auto rows = rows_of(perf(2, {"allreduce", "-b", "64", "-e", "4M", "-f", "65536", "-m", "2", "-J", path}));
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  EXPECT_EQ(json.at("config").at("iterations"), "until stable");
  const auto& results = json.at("results");
  ASSERT_EQ(results.size(), 2u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const char* placement : {"out_of_place", "in_place"}) {
      const auto& figures = results[i].at(placement);
      EXPECT_GE(figures.at("iterations"), 5);
      EXPECT_GE(figures.at("spread"), 0);
      EXPECT_GT(figures.at("time_us"), 0);
      EXPECT_EQ(figures.at("payload_bytes"), rows[i].payload) << "the bytes of one call";
    }
  }
  EXPECT_GT(results[0].at("in_place").at("iterations"), results[1].at("in_place").at("iterations"));
}

TEST(Perf, RefusedOptionsEndAllRanks) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"allreduce", "--algorithm", "skip_ring", "--method", "skip:steps=2"},
        {"broadcast", "-r", "2", "-e", "8"},
        {"allreduce", "-b", "1T", "-e", "1T"}}) {
    const std::string output = perf(2, arguments, 1);
    EXPECT_NE(output.find("lacuna perf: "), std::string::npos) << output;
  }
}

}  // namespace
}  // namespace lacuna::test
