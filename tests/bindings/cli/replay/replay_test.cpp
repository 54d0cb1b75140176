#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/bindings/checkpoint/gradient_fixture.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::cli {
namespace {

using test::UserFile;

class Replay : public testing::Test {
 protected:
  std::string path() const { return folder_ / "g.h5"; }

  /// Runs `lacuna replay` on that many ranks.
  Outcome replay(int ranks, const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = {"launch", "-n",  std::to_string(ranks), "--raw", "--", LACUNA_COMMAND,
                                      "replay", path()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return lacuna(words);
  }
  nlohmann::json results() const { return nlohmann::json::parse(folder_.read("g-replay.json")); }

  /// Writes integers that follow from step, rank and place, and differ between them.
  void write_integers(int ranks, int steps) const {
    UserFile file(path());
    for (int step = 0; step < steps; ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        const std::string group = std::to_string(10 * step) + "/rank-" + std::to_string(rank) + "/";
        std::vector<float> values;
        for (int i = 0; i < 60; ++i) values.push_back(static_cast<float>((7 * i + 3 * rank + step) % 11 - 5));
        file.put(group + "a", values);
        file.put(group + "b", std::vector<float>(values.begin(), values.begin() + 12));
      }
    }
  }
  /// Writes gradients of two ranks, which are 1 and 3 everywhere.
  void write_ones_and_threes(int steps) const {
    UserFile file(path());
    for (int step = 0; step < steps; ++step) {
      for (int rank = 0; rank < 2; ++rank) {
        file.put(std::to_string(step) + "/rank-" + std::to_string(rank) + "/a",
                 std::vector<float>(40, rank == 0 ? 1.0F : 3.0F));
      }
    }
  }

  const test::Folder folder_;
};

void expect_series(const nlohmann::json& method, const char* name, const std::vector<double>& expected) {
  const auto found = method.at("series").at(name).get<std::vector<double>>();
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(found[i], expected[i]) << name << " " << i;
}

TEST_F(Replay, DenseIsExactAndSendsTheBytesOfItsRing) {
  write_integers(3, 4);
  const Outcome outcome = replay(3, {"--method", "dense", "--algorithm", "ring"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json json = results();
  EXPECT_EQ(json.at("steps"), (std::vector<int>{0, 10, 20, 30}));
  const nlohmann::json& dense = json.at("methods").at(0);
  EXPECT_EQ(dense.at("method"), "dense");
  EXPECT_EQ(dense.at("algorithms"), (std::vector<std::string>{"ring", "ring"}));
  const std::vector<double> none(4, 0), bytes(4, 72.0 * sizeof(float) * 2 * (3 - 1) / 3);
  expect_series(dense, "error", none);
  expect_series(dense, "running_error", none);
  expect_series(dense, "residual", none);
  expect_series(dense, "bytes_per_rank", bytes);
  expect_series(dense, "dense_bytes_per_rank", bytes);
}

/// Each half of the result lacks the term of one of two ranks. A 1 lacks 3, and a 3 lacks 1, of 4.
TEST_F(Replay, AMethodsErrorIsThatOfWhatItLeftOut) {
  write_ones_and_threes(3);
  const Outcome outcome = replay(2, {"--method", "skip:steps=1", "--algorithm", "ring"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json method = results().at("methods").at(0);
  const double error = std::sqrt((20 * 9.0 + 20 * 1.0) / (40 * 16.0));
  expect_series(method, "error", {error, error, error});
  expect_series(method, "running_error", {error, error, error});
  expect_series(method, "residual", {0, 0, 0});
  expect_series(method, "bytes_per_rank", std::vector<double>(3, 20 * sizeof(float)));
  expect_series(method, "dense_bytes_per_rank", std::vector<double>(3, 40 * sizeof(float)));
  EXPECT_DOUBLE_EQ(method.at("bytes_share"), 0.5);
}

/// Terms that never leave a rank add up in its residual.
TEST_F(Replay, AResidualIsWhatAMethodHasKeptBack) {
  write_ones_and_threes(3);
  const Outcome outcome = replay(2, {"--method", "skip:steps=1,feedback=1", "--algorithm", "ring"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const double one_step = std::sqrt(20 * 9.0 + 20 * 1.0);
  expect_series(results().at("methods").at(0), "residual", {one_step, 2 * one_step, 3 * one_step});
}

/// Sums of results and residuals are the exact sums, so the residuals hold what the running sum lacks.
TEST_F(Replay, WithFeedbackTheRunningSumLacksTheResiduals) {
  write_integers(2, 5);
  const std::string feedback = "skip:steps=1,mode=random,feedback=1", without = "skip:steps=1,mode=random";
  const Outcome outcome = replay(2, {"--method", feedback, "--method", without, "--algorithm", "ring", "--seed", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  double squares = 0;
  for (int i = 0; i < 72; ++i) {
    double sum = 0;
    for (int step = 0; step < 5; ++step) {
      for (int rank = 0; rank < 2; ++rank) sum += (7 * (i < 60 ? i : i - 60) + 3 * rank + step) % 11 - 5;
    }
    squares += sum * sum;
  }
  const nlohmann::json method = results().at("methods").at(0);
  const double residual = method.at("residual_last"), lacking = method.at("running_error_last");
  EXPECT_GT(residual, 0);
  EXPECT_NEAR(lacking * std::sqrt(squares), residual, 1e-9) << "only one rank's residual holds each element";
  EXPECT_LT(lacking, results().at("methods").at(1).at("running_error_last").get<double>());
}

/// Each rank sends 2 of 72 elements in each step. What a rank has selected is not in its residual.
TEST_F(Replay, MethodsNameTheirAlgorithmsAndTopkKeepsWhatItDoesNotSend) {
  write_ones_and_threes(3);
  const Outcome outcome = replay(2, {"--method", "dense@ring", "--method", "topk:k=4@sparse_ring", "--method",
                                     "topk:k=4@sparse_allgather", "--method", "topk:k=4", "--algorithm", "gtopk"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json methods = results().at("methods");
  const std::vector<std::string> labels = {"dense@ring", "topk:k=4@sparse_ring", "topk:k=4@sparse_allgather",
                                           "topk:k=4"};
  const std::vector<std::string> algorithms = {"ring", "sparse_ring", "sparse_allgather", "gtopk"};
  ASSERT_EQ(methods.size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(methods[i].at("method"), labels[i]);
    EXPECT_EQ(methods[i].at("algorithms"), std::vector<std::string>{algorithms[i]});
  }
  // All 40 elements are alike. First the first four are sent, then the next ones, as the residual grows.
  std::vector<double> residuals;
  for (int step = 1; step <= 3; ++step) {
    const int never = 40 - 4 * step;
    double squares = 10.0 * step * step * never;
    for (int sent = 1; sent < step; ++sent) squares += 10.0 * 4 * (step - sent) * (step - sent);
    residuals.push_back(std::sqrt(squares));
  }
  for (std::size_t i : {1u, 2u}) {
    expect_series(methods[i], "residual", residuals);
    const double lacking = methods[i].at("running_error_last");
    EXPECT_GT(lacking, 0);
  }
  expect_series(methods[2], "bytes_per_rank", std::vector<double>(3, 16.0 + 21));
}

TEST_F(Replay, EveryMethodStandsInTheTableAndInThePicture) {
  write_integers(2, 3);
  const std::string picture = folder_ / "p.svg";
  const Outcome outcome =
      replay(2, {"--method", "dense", "--method", "skip:steps=1", "--plot", picture, "--json", folder_ / "here.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(count(outcome.output, "3 steps of 2 tensors with 72 elements, 2 ranks\n"), 1u) << outcome.output;
  EXPECT_EQ(count(outcome.output, "\ndense +288 B +1.000 .* 0.00e\\+00 +0.00e\\+00 +0\n"), 1u) << outcome.output;
  EXPECT_EQ(count(outcome.output, "\nskip:steps=1 +144 B +0.500 "), 1u) << outcome.output;
  EXPECT_EQ(count(folder_.read("p.svg"), "<polyline "), 2u * 5u);
  EXPECT_FALSE(folder_.read("here.json").empty());
  EXPECT_TRUE(folder_.read("g-replay.json").empty());
}

TEST_F(Replay, AllFloatingDtypesAreReduced) {
  {
    UserFile file(path());
    for (const std::string rank : {"0/rank-0/", "0/rank-1/"}) {
      file.put<double>(rank + "wide", H5T_IEEE_F64LE, {1, 2, 3});
      file.put<std::uint16_t>(rank + "brain", H5T_STD_U16LE, {0x3f80, 0x4000});  // 1 and 2
      file.attribute(rank + "brain", "dtype", "bf16", true);
      file.put<std::uint16_t>(rank + "half", H5T_STD_U16LE, {0x3c00, 0x4000});  // 1 and 2
      file.attribute(rank + "half", "dtype", "f16", true);
    }
  }
  const Outcome outcome = replay(2, {"--method", "dense", "--method", "skip:steps=1", "--algorithm", "ring"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(results().at("tensors").at(0), (nlohmann::json{{"name", "brain"}, {"dtype", "bf16"}, {"count", 2}}));
  expect_series(results().at("methods").at(0), "error", {0});
  expect_series(results().at("methods").at(1), "error", {0.5});
}

TEST_F(Replay, AFileOfOtherRanksSaysHowToStart) {
  write_integers(3, 1);
  const Outcome outcome = replay(2, {"--method", "dense"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(count(outcome.output, "was recorded by 3 ranks and this job has 2: lacuna launch -n 3 -- lacuna replay "),
            1u)
      << outcome.output;
}

TEST_F(Replay, WrongFilesAreErrorsAndSaidOnce) {
  const std::vector<float> one = {1};
  const std::map<std::string, std::function<void(UserFile&)>> files = {
      {"lacks rank-1", [&](UserFile& file) { file.put("0/rank-0/a", one), file.put("0/rank-2/a", one); }},
      {"it holds no complete step",
       [&](UserFile& file) {
         file.put("0/rank-0/a", one), file.put("0/rank-1/a", one);
         file.put<std::uint16_t>("/recorded", H5T_STD_U8LE, {0});
       }},
      {"step 1 has 2 ranks with 'b' \\(1 x f32\\), and step 0 has 2 with 'a' \\(1 x f32\\)",
       [&](UserFile& file) {
         for (const char* place : {"0/rank-0/a", "0/rank-1/a", "1/rank-0/b", "1/rank-1/a"}) file.put(place, one);
       }},
      {"step 1 has 1 rank",
       [&](UserFile& file) {
         for (const char* place : {"0/rank-0/a", "0/rank-1/a", "1/rank-0/a"}) file.put(place, one);
       }},
      {"all ranks must have recorded the same",
       [&](UserFile& file) {
         file.put("0/rank-0/a", one), file.put("0/rank-1/a", std::vector<float>{1, 2});
       }},
      {"'/steps/0/rank-1/a' is neither of", [&](UserFile& file) {
         file.put("0/rank-0/a", one);
         file.put<int>("0/rank-1/a", H5T_STD_I32LE, {1});
       }}};
  for (const auto& [expected, fill] : files) {
    {
      UserFile file(path());
      fill(file);
    }
    const Outcome outcome = replay(2, {"--method", "dense"});
    EXPECT_EQ(outcome.exit_code, 1) << expected;
    EXPECT_EQ(count(outcome.output, "lacuna replay: "), 1u) << outcome.output;
    EXPECT_EQ(count(outcome.output, expected), 1u) << outcome.output;
  }
}

TEST_F(Replay, WhatCannotBeReadIsAnErrorOfAllRanks) {
  const auto said = [&](const std::string& expected) {
    const Outcome outcome = replay(2, {"--method", "dense"});
    EXPECT_EQ(outcome.exit_code, 1) << expected;
    EXPECT_EQ(count(outcome.output, expected), 1u) << outcome.output;
  };
  said("g.h5 cannot be read: No such file");
  std::ofstream(path()) << "no HDF5";
  said("cannot open the file");
  write_integers(2, 2);
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 100);
  said("cannot open the file");
}

TEST_F(Replay, WhatCannotBeWrittenIsToldBeforeTheWork) {
  write_integers(2, 1);
  const Outcome outcome = replay(2, {"--method", "dense", "--json", folder_.path()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(count(outcome.output, "could not be written: it is a folder, not a regular file"), 1u) << outcome.output;
  EXPECT_EQ(count(outcome.output, "steps of"), 0u) << outcome.output;
}

TEST_F(Replay, MethodsThatDoNotExistServeOrDifferAreRefused) {
  write_integers(2, 1);
  const auto said = [&](const std::vector<std::string>& arguments) { return replay(2, arguments).output; };
  EXPECT_EQ(count(said({"--method", "skp"}), "no method is called 'skp' \\(did you mean skip\\?\\)"), 1u);
  EXPECT_EQ(count(said({"--method", "dense,skip:steps=1"}),
                  "no method is called 'dense,skip'.* Give --method once for each, as in --method dense --method "),
            1u);
  EXPECT_EQ(count(said({"--method", "dense", "--method", "dense"}), "dense comes twice"), 1u);
  EXPECT_EQ(count(said({"--method", "dense@"}), "dense@: no algorithm behind the @"), 1u);
  EXPECT_EQ(count(said({"--method", "dense@rign"}), "lacuna replay: --method dense@rign: "), 1u);
  EXPECT_GE(count(said({}), "--method is required"), 1u);
  const std::string unserved = said({"--method", "skip:steps=1", "--algorithm", "recursive_doubling"});
  EXPECT_EQ(count(unserved, "lacuna replay: --method skip:steps=1: .* METHOD@ALGORITHM names one"), 1u) << unserved;
  const std::string alone = said({"--method", "skip:steps=1@recursive_doubling"});
  EXPECT_EQ(count(alone, "METHOD@ALGORITHM names one"), 0u) << alone;
}

}  // namespace
}  // namespace lacuna::cli
