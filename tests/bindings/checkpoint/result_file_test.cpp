#include "bindings/checkpoint/result_file.hpp"

#include <cmath>
#include <fstream>

#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"
#include "bindings/checkpoint/sealed_file.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace lacuna::checkpoint {
namespace {

class ResultFileTest : public CheckpointTest {
 protected:
  /// Returns the results of a method after two evaluations of two ranks.
  static MethodResults method(const std::string& name, std::int64_t seed) {
    return {.method = name,
            .seed = seed,
            .about = {{"finished", std::int64_t{1}}},
            .steps = {1, 5},
            .columns = {{.name = "accuracy", .values = {0.5, std::nan("")}},
                        {.name = "seconds",
                         .values = {2, 10},
                         .about = {{"unit", std::string("seconds")}, {"description", std::string("of a clock")}},
                         .by_rank = {1, 3, 9, 11}}}};
  }
  RunResults sample() const {
    return {
        .provenance = provenance_,
        .methods = {method("skip S=2", 1), method("dense", 1), method("dense", 7), method("skip S=2", 7)},
        .summary = {{"skip S=2", {{"accuracy", 0.75}, {"bytes", 1e9}}}, {"dense", {{"accuracy", 0.5}, {"bytes", 2e9}}}},
        .about_summary = {{"description", std::string("means")}}};
  }
  std::string refused(const RunResults& results) const {
    const Status written = write_results(path_, results);
    EXPECT_EQ(written.code(), Code::InvalidArgument);
    return std::string(written.message());
  }

  const Attributes provenance_ = {{"created_utc", std::string("2025-01-01T00:00:00Z")},
                                  {"seed", std::int64_t{7}},
                                  {"rate", 0.5},
                                  {"config", std::string(70'000, '#')}};
  const std::filesystem::path path_ = directory_ / "run.h5";
};

TEST_F(ResultFileTest, EverythingComesBackInOrder) {
  ASSERT_TRUE(write_results(path_, sample()));
  const Result<RunResults> back = read_results(path_);
  ASSERT_TRUE(back) << back.status().to_string();
  EXPECT_EQ(back->provenance, provenance_);
  EXPECT_EQ(back->about_summary, sample().about_summary);
  ASSERT_EQ(back->methods.size(), 4u);
  std::string order;
  for (const MethodResults& one : back->methods) order += one.method + " " + std::to_string(one.seed) + ", ";
  EXPECT_EQ(order, "skip S=2 1, skip S=2 7, dense 1, dense 7, ");
  for (const MethodResults& one : back->methods) {
    EXPECT_EQ(one.about, (Attributes{{"finished", std::int64_t{1}}}));
    EXPECT_EQ(one.steps, (std::vector<std::int64_t>{1, 5}));
    ASSERT_EQ(one.columns.size(), 2u);
    EXPECT_EQ(one.columns[0].name, "accuracy");
    EXPECT_EQ(one.columns[0].values[0], 0.5);
    EXPECT_TRUE(std::isnan(one.columns[0].values[1]));
    EXPECT_TRUE(one.columns[0].by_rank.empty());
    EXPECT_EQ(one.columns[1].about, method("", 0).columns[1].about);
    EXPECT_EQ(one.columns[1].by_rank, (std::vector<double>{1, 3, 9, 11}));
  }
  ASSERT_EQ(back->summary.size(), 2u);
  EXPECT_EQ(back->summary[0].method, "skip S=2");
  EXPECT_EQ(back->summary[1].metrics[1].name, "bytes");
  EXPECT_EQ(back->summary[1].metrics[1].value, 2e9);
}

TEST_F(ResultFileTest, OfNothingItIsWhole) {
  ASSERT_TRUE(write_results(path_, {}));
  const Result<RunResults> back = read_results(path_);
  ASSERT_TRUE(back) << back.status().to_string();
  EXPECT_TRUE(back->methods.empty() && back->summary.empty() && back->provenance.empty());
}

TEST_F(ResultFileTest, WhatDoesNotFitIsRefusedAndChangesNothing) {
  ASSERT_TRUE(write_results(path_, sample()));
  const std::string before = folder_.read("run.h5");
  const auto with = [this](auto change) {
    RunResults results = sample();
    change(results.methods.front());
    return refused(results);
  };
  EXPECT_TRUE(
      holds(with([](MethodResults& one) { one.columns[0].values.pop_back(); }), "1 value and 0 of ranks for 2 steps"));
  EXPECT_TRUE(holds(with([](MethodResults& one) { one.columns[1].by_rank.pop_back(); }), "2 values and 3 of ranks"));
  EXPECT_TRUE(holds(with([](MethodResults& one) { one.steps = {5, 5}; }), "do not ascend"));
  EXPECT_TRUE(holds(with([](MethodResults& one) { one.method = "a/b"; }), "'a/b'"));
  EXPECT_TRUE(holds(with([](MethodResults& one) { one.columns[0].name = "seconds"; }), "'seconds' twice"));
  for (const char* taken : {"step", "by_rank"}) {
    EXPECT_TRUE(holds(with([&](MethodResults& one) { one.columns[0].name = taken; }), "are taken"));
  }
  RunResults other = sample();
  other.summary[1].metrics[0].name = "x";
  EXPECT_TRUE(holds(refused(other), "the summary of 'dense' has other metrics than that of 'skip S=2'"));
  EXPECT_TRUE(folder_.read("run.h5") == before);
}

TEST_F(ResultFileTest, AFileOfAnotherKindIsRefused) {
  ASSERT_TRUE(write_set(directory_, 1));
  EXPECT_TRUE(holds(read_results(directory_ / "ckpt-1-rank0.h5").status().message(), "not a result file"));
  EXPECT_FALSE(read_results(directory_ / "none.h5"));
}

// On damaged files HDF5 may crash or loop, so it must not see them.
TEST_F(ResultFileTest, EveryDamagedByteIsFoundAndEveryShorterFile) {
  ASSERT_TRUE(write_results(path_, {.provenance = {{"name", std::string("few")}}, .methods = {}, .summary = {}}));
  const std::string whole = folder_.read("run.h5");
  const std::size_t text = whole.find('\0'), block = seal_bytes({});
  for (std::size_t at = 0; at < whole.size(); at += at < block ? 1 : 11) {
    if (at == text) at = block;  // nobody reads the zero bytes between them
    std::string damaged = whole;
    damaged[at] ^= 4;
    std::ofstream(path_, std::ios::binary) << damaged;
    const Status read = read_results(path_).status();
    EXPECT_EQ(read.code(), Code::Io) << at;
    EXPECT_TRUE(holds(read.message(), at < 16 ? "not a result file" : "is damaged")) << at;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{15}, text - 1, block - 1, block, whole.size() - 1}) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, length);
    EXPECT_EQ(read_results(path_).status().code(), Code::Io) << length;
  }
  std::ofstream(path_, std::ios::binary) << whole;
  EXPECT_TRUE(read_results(path_));
}

TEST_F(ResultFileTest, OtherToolsReadItBehindItsSeal) {
  ASSERT_TRUE(write_results(path_, sample()));
  const hdf5::Turn turn;
  const auto input = hdf5::Input::open(path_);
  ASSERT_TRUE(input) << input.status().to_string();
  std::vector<double> seconds;
  EXPECT_TRUE(input->read_all("/methods/dense/seed-7", "seconds", Dtype::F64, 1, seconds));
  EXPECT_EQ(seconds, (std::vector<double>{2, 10}));
}

TEST_F(ResultFileTest, AFileOfAnEarlierLayoutIsRefusedWithTheVersionThatHasWrittenIt) {
  hdf5::Output output(path_, 0);
  output.attributes("/", {{"schema", std::string("lacuna-run")}, {"schema_version", std::int64_t{1}}});
  output.attributes("/", {{"lacuna_version", std::string("0.0.9")}});
  ASSERT_TRUE(output.finish([this](std::span<const std::byte> image) { return replace_sealed(path_, image); }));
  EXPECT_TRUE(holds(read_results(path_).status().message(),
                    "has the layout 1, written by lacuna 0.0.9; this lacuna reads layout 3"));
}

}  // namespace
}  // namespace lacuna::checkpoint
