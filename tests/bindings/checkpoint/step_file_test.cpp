#include "bindings/checkpoint/step_file.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "bindings/checkpoint/hdf5_input.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace lacuna::checkpoint {
namespace {

class StepFileTest : public CheckpointTest {
 protected:
  static constexpr std::size_t steps = 7;

  /// Two columns. The value of column c in step s is 10 s + c.
  static StepTable sample() {
    return {.about = {{"method", std::string("topk 1 %")}, {"seed", std::int64_t{3}}},
            .columns = {{.name = "loss", .about = {{"unit", std::string("ratio")}}}, {.name = "seconds"}}};
  }
  StepFile make(std::size_t length = steps, std::size_t kept = 0) const {
    const Result<StepTable> earlier = read_steps(path_);
    Result<StepFile> file = StepFile::make(path_, sample(), length, earlier ? *earlier : StepTable(), kept);
    EXPECT_TRUE(file) << file.status().to_string();
    return *std::move(file);
  }
  static void write(const StepFile& file, std::size_t first, std::size_t count, double added = 0) {
    std::vector<double> rows;
    for (std::size_t step = first + 1; step <= first + count; ++step) {
      rows.insert(rows.end(), {10 * static_cast<double>(step) + added, 10 * static_cast<double>(step) + 1 + added});
    }
    const Status written = file.write(first, rows);
    EXPECT_TRUE(written) << written.to_string();
  }
  /// Expects that these steps are known, and no others.
  void expect_known(std::size_t length, const std::vector<std::size_t>& known) const {
    const Result<StepTable> table = read_steps(path_);
    ASSERT_TRUE(table) << table.status().to_string();
    EXPECT_EQ(table->about, sample().about);
    ASSERT_EQ(table->places(), length);
    ASSERT_EQ(table->columns.size(), 2u);
    EXPECT_EQ(table->columns[0].name, "loss");
    EXPECT_EQ(table->columns[0].about, sample().columns[0].about);
    for (std::size_t step = 1; step <= length; ++step) {
      const bool is_known = std::find(known.begin(), known.end(), step) != known.end();
      EXPECT_EQ(table->known[step - 1], is_known ? 1 : 0) << step;
      for (std::size_t column = 0; column < 2; ++column) {
        const double value = table->columns[column].values[step - 1];
        if (is_known) {
          EXPECT_EQ(value, static_cast<double>(10 * step + column));
        } else {
          EXPECT_TRUE(std::isnan(value)) << step << ": " << value;
        }
      }
    }
  }

  const std::filesystem::path path_ = directory_ / "steps.h5";
};

TEST_F(StepFileTest, StepsAreKnownFromTheTimeThatTheyAreWritten) {
  const StepFile file = make();
  expect_known(steps, {});
  write(file, 0, 3);
  expect_known(steps, {1, 2, 3});
  write(file, 3, 1);
  write(file, 4, 0);
  expect_known(steps, {1, 2, 3, 4});
  write(file, 4, 3);
  expect_known(steps, {1, 2, 3, 4, 5, 6, 7});
}

TEST_F(StepFileTest, AReaderThatHasTheFileOpenSeesWhatIsWrittenLater) {
  const StepFile file = make();
  const hdf5::Turn turn;
  const Result<hdf5::Input> reader = hdf5::Input::open(path_);
  ASSERT_TRUE(reader) << reader.status().to_string();
  std::vector<double> losses;
  ASSERT_TRUE(reader->read_all("", "loss", Dtype::F64, 1, losses));
  EXPECT_TRUE(std::isnan(losses[1]));
  write(file, 0, 2);
  ASSERT_TRUE(reader->read_all("", "loss", Dtype::F64, 1, losses));
  EXPECT_EQ(losses[1], 20);
}

TEST_F(StepFileTest, WhatWasWrittenSurvivesItsWriterWithoutBeingClosed) {
  const auto file = std::make_unique<StepFile>(make());
  write(*file, 0, 2);
  std::filesystem::copy_file(path_, directory_ / "copy.h5");  // as a kill would leave it
  std::filesystem::rename(directory_ / "copy.h5", path_);
  expect_known(steps, {1, 2});
}

TEST_F(StepFileTest, StepsAfterACheckpointAreForgotten) {
  write(make(), 0, 5);
  const StepFile again = make(steps, 2);
  expect_known(steps, {1, 2});
  write(again, 2, 1);
  expect_known(steps, {1, 2, 3});
}

TEST_F(StepFileTest, AFileGrowsAndShrinksWithTheWork) {
  write(make(), 0, steps);
  write(make(steps + 4, steps), steps, 2);
  expect_known(steps + 4, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  make(3, steps + 2);
  expect_known(3, {1, 2, 3});
}

TEST_F(StepFileTest, StepsThatTheEarlierFileDoesNotKnowStayUnknown) {
  write(make(), 0, 2);
  write(make(steps, 4), 4, 1);
  expect_known(steps, {1, 2, 5});
}

TEST_F(StepFileTest, EveryByteButItsElementsAndTheRestOfTheSealIsSealed) {
  write(make(), 0, 3);
  const std::string whole = folder_.read("steps.h5");
  const std::size_t text = whole.find('\0'), block = 512;
  const auto is_open = [&](std::size_t at) {
    std::size_t begin = 0, length = 0;
    for (std::size_t line = whole.find("except "); line < text; line = whole.find("except ", line + 1)) {
      EXPECT_EQ(std::sscanf(&whole[line], "except %zu %zu", &begin, &length), 2);
      if (at >= block + begin && at < block + begin + length) return true;
    }
    return at >= text && at < block;
  };
  std::size_t open = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    open += is_open(at) ? 1 : 0;
    if (at >= block && at % 11 != 0) continue;
    std::string damaged = whole;
    damaged[at] ^= 4;
    std::ofstream(path_, std::ios::binary) << damaged;
    EXPECT_EQ(static_cast<bool>(read_steps(path_)), is_open(at)) << at;
  }
  EXPECT_EQ(open, 3 * steps * sizeof(double) + block - text);
}

TEST_F(StepFileTest, AStretchOfASealLiesInItsFile) {
  make();
  const std::string whole = folder_.read("steps.h5");
  const std::size_t at = whole.find("except ");
  for (const char* stretch : {"except 99999999 8\n", "except 8 99999999\n", "except 18446744073709551615 8\n",
                              "except 8 18446744073709551615\n", "except 8\n", "except 16 8\nexcept 8 8\n"}) {
    std::string damaged = whole;
    damaged.replace(at, std::string_view(stretch).size(), stretch);
    std::ofstream(path_, std::ios::binary) << damaged;
    EXPECT_TRUE(holds(read_steps(path_).status().message(), "steps.h5 is damaged")) << stretch;
  }
}

TEST_F(StepFileTest, WhatIsNoFileOfStepsIsReplaced) {
  std::ofstream(path_) << "nothing";
  EXPECT_EQ(read_steps(path_).status().code(), Code::Io);
  make();
  expect_known(steps, {});
}

TEST_F(StepFileTest, ALinkIsReplacedAndNotFollowed) {
  std::ofstream(directory_ / "elsewhere") << "mine";
  std::filesystem::create_symlink(directory_ / "elsewhere", path_);
  write(make(), 0, 1);
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(std::filesystem::file_size(directory_ / "elsewhere"), 4u);
}

TEST_F(StepFileTest, StepsBeyondTheLastOneAreRefused) {
  const StepFile file = make();
  const Status refused = file.write(steps - 1, std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(refused.code(), Code::InvalidArgument);
  EXPECT_TRUE(holds(refused.message(), "has places for 7 steps; 7 to 8 have none"));
  expect_known(steps, {});
}

TEST_F(StepFileTest, NamesThatCanNotBeStoredAreRefused) {
  for (const char* name : {"", "a/b", ".", "step"}) {
    EXPECT_FALSE(StepFile::make(path_, {.columns = {{.name = name}}}, steps, {}, 0)) << name;
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
}

TEST_F(StepFileTest, AFolderThatIsNotThereIsAnError) {
  const Result<StepFile> file = StepFile::make(directory_ / "missing" / "steps.h5", sample(), steps, {}, 0);
  EXPECT_EQ(file.status().code(), Code::Io);
  EXPECT_TRUE(holds(file.status().message(), "missing"));
}

}  // namespace
}  // namespace lacuna::checkpoint
