#include "bindings/checkpoint/result_file.hpp"

#include <array>
#include <cmath>
#include <sstream>

#include "bindings/checkpoint/config_difference.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace lacuna::checkpoint {
namespace {

class ResultFileTest : public CheckpointTest {
 protected:
  static ResultRow row(std::int64_t step, double accuracy) {
    return {step, {{"accuracy", accuracy}, {"seconds", static_cast<double>(step) * 2}}};
  }
  static std::string text_of(const MethodResults& results) {
    std::ostringstream text;
    text << results.method << ":";
    for (const ResultRow& each : results.rows) {
      text << " " << each.step;
      for (const Metric& metric : each.metrics) text << "/" << metric.name << "=" << metric.value;
    }
    return text.str();
  }
  std::string reopened() const {
    const Result<ResultFile> file = ResultFile::open(path_);
    if (!file) return file.status().to_string();
    std::string text;
    for (const MethodResults& results : file->methods()) text += text_of(results) + "\n";
    return text;
  }

  const Attributes provenance_ = {{"created_utc", std::string("2025-01-01T00:00:00Z")},
                                  {"seed", std::int64_t{7}},
                                  {"rate", 0.5},
                                  {"config", std::string(70'000, '#')}};
  const std::filesystem::path path_ = directory_ / "run.h5";
};

TEST_F(ResultFileTest, ProvenanceRowsAndSummaryComeBackInOrder) {
  Result<ResultFile> file = ResultFile::create(path_, provenance_);
  ASSERT_TRUE(file) << file.status().to_string();
  ASSERT_TRUE(file->append("skip_ring S=2", std::array{row(1, 0.5), row(2, 0.75)}));
  ASSERT_TRUE(file->append("dense", std::array{row(1, 0.25)}));
  ASSERT_TRUE(file->append("dense", std::array{row(2, std::nan(""))}));
  ASSERT_TRUE(file->summarise(
      {{"skip_ring S=2", {{"accuracy", 0.75}, {"bytes", 1e9}}}, {"dense", {{"accuracy", 0.5}, {"bytes", 2e9}}}}));
  EXPECT_EQ(reopened(),
            "skip_ring S=2: 1/accuracy=0.5/seconds=2 2/accuracy=0.75/seconds=4\n"
            "dense: 1/accuracy=0.25/seconds=2 2/accuracy=nan/seconds=4\n");
  const Result<ResultFile> again = ResultFile::open(path_);
  EXPECT_TRUE(again->provenance() == provenance_);
  ASSERT_EQ(again->summary().size(), 2U);
  EXPECT_EQ(again->summary()[0].method, "skip_ring S=2");
  EXPECT_EQ(again->summary()[1].metrics[1].name, "bytes");
  EXPECT_EQ(again->summary()[1].metrics[1].value, 2e9);
}

TEST_F(ResultFileTest, WhatIsKnownOfAMetricSurvivesThatRowsAreAdded) {
  const Attributes about = {{"unit", std::string("seconds")}, {"adds_up", std::string("largest")}};
  const auto measured = [&](std::int64_t step) {
    return std::array{ResultRow{step, {{"accuracy", 0.5}, {"longest", 2.5, about}}}};
  };
  ASSERT_TRUE(ResultFile::create(path_, provenance_)->append("dense", measured(1)));
  ASSERT_TRUE(ResultFile::open(path_)->append("dense", measured(2)));
  const Result<ResultFile> file = ResultFile::open(path_);
  ASSERT_TRUE(file) << file.status().to_string();
  ASSERT_EQ(file->methods().front().rows.size(), 2u);
  for (const ResultRow& each : file->methods().front().rows) {
    EXPECT_TRUE(each.metrics[0].about.empty());
    EXPECT_EQ(each.metrics[1].about, about);
  }
}

TEST_F(ResultFileTest, RepeatedStepsReplaceTheOldOnesAfterReopening) {
  ASSERT_TRUE(ResultFile::create(path_, provenance_)->append("dense", std::array{row(1, 1), row(2, 2), row(3, 3)}));
  Result<ResultFile> file = ResultFile::open(path_);
  ASSERT_TRUE(file) << file.status().to_string();
  ASSERT_TRUE(file->append("dense", std::array{row(2, 9)}));
  EXPECT_EQ(reopened(), "dense: 1/accuracy=1/seconds=2 2/accuracy=9/seconds=4\n");
}

TEST_F(ResultFileTest, RowsThatDoNotFitAreRefusedAndChangeNothing) {
  Result<ResultFile> file = ResultFile::create(path_, provenance_);
  ASSERT_TRUE(file && file->append("dense", std::array{row(1, 1)}));
  const std::string before = reopened();
  const Status other = file->append("dense", std::array{ResultRow{2, {{"accuracy", 1}}}});
  EXPECT_TRUE(holds(other.message(), "[accuracy], the rows before have [accuracy, seconds]"));
  EXPECT_FALSE(file->append("dense", std::array{row(3, 1), row(2, 1)}));
  EXPECT_FALSE(file->append("a/b", std::array{row(1, 1)}));
  EXPECT_FALSE(file->append("new", std::array{ResultRow{1, {{"step", 1}}}}));
  EXPECT_FALSE(file->append("new", std::array{ResultRow{1, {{"x", 1}, {"x", 1}}}}));
  EXPECT_FALSE(file->summarise({{"a", {{"x", 1}}}, {"b", {{"y", 1}}}}));
  EXPECT_EQ(reopened(), before);
  ASSERT_TRUE(file->append("dense", std::array{row(2, 2)}));
  EXPECT_EQ(reopened(), "dense: 1/accuracy=1/seconds=2 2/accuracy=2/seconds=4\n");
}

TEST_F(ResultFileTest, AFileOfAnotherKindIsRefused) {
  ASSERT_TRUE(write_set(directory_, 1));
  const Result<ResultFile> file = ResultFile::open(directory_ / "ckpt-1-rank0.h5");
  EXPECT_TRUE(holds(file.status().message(), "not a result file"));
  EXPECT_FALSE(ResultFile::open(directory_ / "none.h5"));
}

TEST(ConfigDifference, EqualTextsHaveNone) {
  EXPECT_EQ(config_difference("", ""), "");
  EXPECT_EQ(config_difference("a\nb\n", "a\nb\n"), "");
}

TEST(ConfigDifference, NamesOnlyTheLinesThatChangedWithTheirNumbers) {
  EXPECT_EQ(config_difference("a\nrate = 0.1\nb\n", "a\nrate = 0.2\nb\n"), "-2: rate = 0.1\n+2: rate = 0.2\n");
  EXPECT_EQ(config_difference("a\nb\nc\nd\n", "b\nc\nx\nd\ne\n"), "-1: a\n+3: x\n+5: e\n");
  EXPECT_EQ(config_difference("a\nb\nc\n", "c\n"), "-1: a\n-2: b\n");
  EXPECT_EQ(config_difference("a", "a\n"), "+2: \n");
}

}  // namespace
}  // namespace lacuna::checkpoint
