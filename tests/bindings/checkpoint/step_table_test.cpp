#include "bindings/checkpoint/step_table.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace lacuna::checkpoint {
namespace {

class StepTableTest : public CheckpointTest {
 protected:
  static StepRow row(std::int64_t step, const std::string& method = "dense") {
    const auto number = static_cast<double>(step);
    return {.method = method,
            .seed = 7,
            .step = step,
            .seconds = number / 2,
            .waited_seconds = number / 4,
            .payload_bytes = 1e9 * number,
            .figure = 1 / number};
  }
  static std::vector<StepRow> rows(std::int64_t first, std::int64_t last) {
    std::vector<StepRow> all;
    for (std::int64_t step = first; step <= last; ++step) all.push_back(row(step));
    return all;
  }
  Result<StepTable> create(const std::vector<StepRow>& rows) const { return StepTable::create(path_, layout_, rows); }
  /// Returns the steps of a file from a row on; expects that all else belongs to them.
  std::vector<std::int64_t> steps(std::size_t first = 0) const {
    const Result<Steps> read = read_steps(path_, first);
    EXPECT_TRUE(read) << read.status().to_string();
    std::vector<std::int64_t> found;
    if (!read) return found;
    EXPECT_EQ(read->attributes, layout_.attributes);
    EXPECT_EQ(read->figure, "training_loss");
    for (const StepRow& one : read->rows) {
      const StepRow expected = row(one.step);
      EXPECT_EQ(one.seed, 7);
      EXPECT_EQ(one.seconds, expected.seconds);
      EXPECT_EQ(one.waited_seconds, expected.waited_seconds);
      EXPECT_EQ(one.payload_bytes, expected.payload_bytes);
      EXPECT_EQ(one.figure, expected.figure);
      found.push_back(one.step);
    }
    return found;
  }
  static std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> all;
    for (std::int64_t number = first; number <= last; ++number) all.push_back(number);
    return all;
  }

  const std::filesystem::path path_ = directory_ / "r-steps.h5";
  const StepTable::Layout layout_ = {
      .figure = "training_loss", .methods = {"dense", "a longer name"}, .attributes = {{"steps", std::int64_t{9000}}}};
};

TEST_F(StepTableTest, RowsAreReadWhileTheTableIsOpenAndAfterwards) {
  {
    Result<StepTable> table = create({});
    ASSERT_TRUE(table) << table.status().to_string();
    EXPECT_EQ(steps(), numbers(1, 0));
    ASSERT_TRUE(table->append(rows(1, 1)));
    EXPECT_EQ(steps(), numbers(1, 1));
    ASSERT_TRUE(table->append(rows(2, 3000))) << "more than two chunks";
    EXPECT_EQ(steps(), numbers(1, 3000));
    EXPECT_EQ(steps(2998), numbers(2999, 3000));
    EXPECT_EQ(steps(3000), numbers(1, 0));
    EXPECT_EQ(steps(9999), numbers(1, 0));
  }
  EXPECT_EQ(steps(), numbers(1, 3000));
}

TEST_F(StepTableTest, ANewTableBeginsWithTheRowsThatItIsGiven) {
  ASSERT_TRUE(create(rows(1, 2000)));
  Result<StepTable> again = create(rows(1, 1500));
  ASSERT_TRUE(again) << again.status().to_string();
  ASSERT_TRUE(again->append(rows(1501, 1502)));
  EXPECT_EQ(steps(), numbers(1, 1502));
}

TEST_F(StepTableTest, MethodsOfAnyLengthAreNamed) {
  Result<StepTable> table = create({row(1, "a longer name")});
  ASSERT_TRUE(table) << table.status().to_string();
  ASSERT_TRUE(table->append(std::array{row(2), row(3, "a longer name")}));
  const Result<Steps> read = read_steps(path_);
  ASSERT_TRUE(read) << read.status().to_string();
  ASSERT_EQ(read->rows.size(), 3u);
  EXPECT_EQ(read->rows[0].method, "a longer name");
  EXPECT_EQ(read->rows[1].method, "dense");
  EXPECT_EQ(read->rows[2].method, "a longer name");
}

TEST_F(StepTableTest, WhatAKilledWriterHasAddedStays) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    Result<StepTable> table = create(rows(1, 10));
    if (table) table->append(rows(11, 1500)).to_string();
    if (table) table->append(rows(1501, 1507)).to_string();
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(steps(), numbers(1, 1507));
  const Result<Steps> read = read_steps(path_);
  ASSERT_TRUE(read) << read.status().to_string();
  ASSERT_TRUE(create(read->rows));
  EXPECT_EQ(steps(), numbers(1, 1507)) << "it is made anew from what was read";
}

TEST_F(StepTableTest, AFileOfAnotherKindIsRefused) {
  ASSERT_TRUE(write_set(directory_, 1));
  EXPECT_FALSE(read_steps(directory_ / "ckpt-1-rank0.h5"));
  EXPECT_FALSE(read_steps(directory_ / "none.h5"));
}

}  // namespace
}  // namespace lacuna::checkpoint
