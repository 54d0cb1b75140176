#include "bindings/checkpoint/gradient_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <map>

#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"
#include "tests/bindings/checkpoint/gradient_fixture.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::checkpoint {
namespace {

using test::UserFile;

class Gradients : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "g.h5"; }

  GradientLayout layout() const {
    return {.steps = {0, 4, 8},
            .ranks = 2,
            .tensors = {{"weights", Dtype::F32, nullptr, 5}, {"biases", Dtype::BF16, nullptr, 3}},
            .attributes = {{"values", "seed = 1"}}};
  }
  static std::vector<float> weights(std::int64_t step, Rank rank) {
    const auto base = static_cast<float>(10 * step + 100 * rank);
    return {base, base + 1, -base, 0, 7};
  }
  static std::vector<std::uint16_t> biases(std::int64_t step, Rank rank) {
    return {static_cast<std::uint16_t>(step), static_cast<std::uint16_t>(rank), 0x3f80};
  }
  Status write(std::int64_t step, Rank rank) const {
    std::vector<float> first = weights(step, rank);
    std::vector<std::uint16_t> second = biases(step, rank);
    const std::vector<StateItem> items = {{"weights", Dtype::F32, first.data(), first.size()},
                                          {"biases", Dtype::BF16, second.data(), second.size()}};
    return write_gradients(path(), step, rank, items);
  }
  /// Reads everything of a file. Returns the first error.
  Status read_all() const {
    const auto file = GradientFile::open(path());
    if (!file) return file.status();
    for (const std::int64_t step : file->steps()) {
      const auto ranks = file->ranks(step);
      if (!ranks) return ranks.status();
      for (Rank rank = 0; rank < *ranks; ++rank) {
        auto tensors = file->tensors(step, rank);
        if (!tensors) return tensors.status();
        for (StateItem& tensor : *tensors) {
          std::vector<std::byte> data(tensor.count * size_of(tensor.dtype));
          tensor.data = data.data();
          if (Status read = file->read(step, rank, tensor); !read) return read;
        }
      }
    }
    return Status::ok();
  }
  template <class T>
  std::vector<T> read(std::int64_t step, Rank rank, const std::string& name, Dtype dtype) const {
    const auto file = GradientFile::open(path());
    EXPECT_TRUE(file) << file.status().to_string();
    const auto tensors = file->tensors(step, rank);
    EXPECT_TRUE(tensors) << tensors.status().to_string();
    for (StateItem tensor : *tensors) {
      if (tensor.name != name) continue;
      EXPECT_EQ(tensor.dtype, dtype) << name;
      std::vector<T> values(tensor.count);
      tensor.data = values.data();
      const Status done = file->read(step, rank, tensor);
      EXPECT_TRUE(done) << done.to_string();
      return values;
    }
    ADD_FAILURE() << "there is no " << name;
    return {};
  }

  const test::Folder folder_;
};

TEST_F(Gradients, WhatIsRecordedIsReadAgain) {
  ASSERT_TRUE(make_gradient_file(path(), layout()));
  for (const std::int64_t step : {4, 0}) {
    for (const Rank rank : {1, 0}) {
      const Status written = write(step, rank);
      ASSERT_TRUE(written) << written.to_string();
    }
    ASSERT_TRUE(mark_recorded(path(), step));
  }
  const auto file = GradientFile::open(path());
  ASSERT_TRUE(file) << file.status().to_string();
  EXPECT_EQ(file->steps(), (std::vector<std::int64_t>{0, 4})) << "step 8 is not complete";
  EXPECT_EQ(*file->ranks(4), 2);
  for (const std::int64_t step : {0, 4}) {
    for (const Rank rank : {0, 1}) {
      EXPECT_EQ(read<float>(step, rank, "weights", Dtype::F32), weights(step, rank));
      EXPECT_EQ(read<std::uint16_t>(step, rank, "biases", Dtype::BF16), biases(step, rank));
    }
  }
}

/// Names of steps have six digits, or more if the number has more.
TEST_F(Gradients, StepsOfAnyNumberOfDigitsAscendByNumberAndEachHasItsOwnMark) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  GradientLayout many = layout();
  many.steps = {0, 9, 10, 99999, 100000, 999999, 1000000, 1000001, 10000000, most - 1, most};
  for (const std::int64_t marked : many.steps) {
    ASSERT_TRUE(make_gradient_file(path(), many));
    ASSERT_TRUE(mark_recorded(path(), marked));
    EXPECT_EQ(GradientFile::open(path())->steps(), std::vector<std::int64_t>{marked});
  }
  many.steps.resize(many.steps.size() - 2);  // the fixture has numbers for that many
  ASSERT_TRUE(make_gradient_file(path(), many));
  for (const std::int64_t step : many.steps) {
    ASSERT_TRUE(write(step, 1));
    ASSERT_TRUE(mark_recorded(path(), step));
  }
  EXPECT_EQ(GradientFile::open(path())->steps(), many.steps);
  for (const std::int64_t step : many.steps) {
    EXPECT_EQ(read<float>(step, 1, "weights", Dtype::F32), weights(step, 1)) << step;
  }
}

TEST_F(Gradients, AStepChangesNoOtherByteOfTheFile) {
  ASSERT_TRUE(make_gradient_file(path(), layout()));
  const std::string before = folder_.read("g.h5");
  ASSERT_TRUE(write(4, 1));
  const std::string after = folder_.read("g.h5");
  ASSERT_EQ(before.size(), after.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i];
  EXPECT_GT(changed, 0u);
  EXPECT_LE(changed, 5 * sizeof(float) + 3 * sizeof(std::uint16_t));
  ASSERT_TRUE(mark_recorded(path(), 4));
  const std::string marked = folder_.read("g.h5");
  changed = 0;
  for (std::size_t i = 0; i < marked.size(); ++i) changed += marked[i] != after[i];
  EXPECT_EQ(changed, 1u);
}

TEST_F(Gradients, EqualRecordingsAreEqualFiles) {
  ASSERT_TRUE(make_gradient_file(path(), layout()));
  ASSERT_TRUE(write(0, 0));
  const std::string first = folder_.read("g.h5");
  ::sleep(1);  // HDF5 tells times in seconds
  ASSERT_TRUE(make_gradient_file(path(), layout()));
  ASSERT_TRUE(write(0, 0));
  EXPECT_TRUE(folder_.read("g.h5") == first);
}

TEST_F(Gradients, OnlyWhatTheLayoutHasIsWritten) {
  ASSERT_TRUE(make_gradient_file(path(), layout()));
  std::vector<float> values(6);
  const auto said = [&](std::int64_t step, Rank rank, const StateItem& item) {
    return std::string(write_gradients(path(), step, rank, {&item, 1}).message());
  };
  EXPECT_TRUE(holds(said(4, 0, {"weights", Dtype::F32, values.data(), 6}), "has room for 5 x f32, not for 6 x f32"));
  EXPECT_TRUE(holds(said(4, 0, {"weights", Dtype::F64, values.data(), 3}), "has room for 5 x f32, not for 3 x f64"));
  EXPECT_TRUE(holds(said(4, 2, {"weights", Dtype::F32, values.data(), 5}), "rank-2"));
  EXPECT_TRUE(holds(said(5, 0, {"weights", Dtype::F32, values.data(), 5}), "it has no step 5"));
  EXPECT_TRUE(holds(said(4, 0, {"others", Dtype::F32, values.data(), 5}), "others"));
  EXPECT_TRUE(holds(mark_recorded(path(), 5).message(), "it has no step 5"));
}

TEST_F(Gradients, ARecordingBelongsToTheAttributesThatItWasMadeWith) {
  ASSERT_TRUE(make_gradient_file(path(), layout()));
  EXPECT_TRUE(check_gradient_file(path(), layout().attributes));
  EXPECT_TRUE(holds(check_gradient_file(path(), {{"values", "seed = 2"}}).message(), "its 'values' differs"));
  { UserFile other(path()); }
  EXPECT_TRUE(holds(check_gradient_file(path(), layout().attributes).message(), "its 'schema' differs"));
}

TEST_F(Gradients, ARecordingThatDoesNotFitOnTheDiskIsRefusedBeforeItIsMade) {
  GradientLayout large = layout();
  large.tensors[0].count = std::size_t{1} << 52;
  const Status made = make_gradient_file(path(), large);
  EXPECT_TRUE(holds(made.message(), "record fewer steps"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Gradients, FilesOfOtherProgramsAreRead) {
  {
    UserFile file(path());
    file.put<float>("12/rank-0/matrix", H5T_IEEE_F32BE, {1, 2, 3, 4, 5, 6}, {2, 3});
    file.put<double>("12/rank-0/wide", H5T_IEEE_F64LE, {0.5, -2});
    file.put<std::uint16_t>("12/rank-0/brain", H5T_STD_U16LE, {0x3f80, 0x4000});
    file.attribute("12/rank-0/brain", "dtype", "bf16", true);
    file.put<std::uint16_t>("12/rank-0/half", H5T_STD_U16LE, {0x3c00});
    file.attribute("12/rank-0/half", "dtype", "f16", false);
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_ebias(half, 15);
    H5Tset_size(half, 2);
    file.put<float>("12/rank-0/float16", half, {1.5F, -2});
    H5Tclose(half);
    file.put("3/rank-0/none", {});
  }
  const auto file = GradientFile::open(path());
  ASSERT_TRUE(file) << file.status().to_string();
  EXPECT_EQ(file->steps(), (std::vector<std::int64_t>{3, 12}));
  EXPECT_EQ(read<float>(12, 0, "matrix", Dtype::F32), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read<double>(12, 0, "wide", Dtype::F64), (std::vector<double>{0.5, -2}));
  EXPECT_EQ(read<std::uint16_t>(12, 0, "brain", Dtype::BF16), (std::vector<std::uint16_t>{0x3f80, 0x4000}));
  EXPECT_EQ(read<std::uint16_t>(12, 0, "half", Dtype::F16), (std::vector<std::uint16_t>{0x3c00}));
  EXPECT_EQ(read<std::uint16_t>(12, 0, "float16", Dtype::F16), (std::vector<std::uint16_t>{0x3e00, 0xc000}));
  EXPECT_EQ(read<float>(3, 0, "none", Dtype::F32), std::vector<float>());
}

TEST_F(Gradients, WhatIsNoRecordingIsAnErrorThatNamesIt) {
  const std::map<std::string, std::function<void(UserFile&)>> files = {
      {"'/steps'", [](UserFile&) {}},
      {"'last', which is no step's number", [](UserFile& file) { file.put("last/rank-0/a", {1}); }},
      {"step 7 twice",
       [](UserFile& file) {
         file.put("7/rank-0/a", {1});
         file.put("07/rank-0/a", {1});
       }},
      {"lacks rank-1: it has rank-0, rank-2",
       [](UserFile& file) {
         file.put("7/rank-0/a", {1});
         file.put("7/rank-2/a", {1});
       }},
      {"'/steps/7' is empty", [](UserFile& file) { file.group("7"); }},
      {"open the group '/steps/7/rank-0'", [](UserFile& file) { file.put("7/rank-0", {1}); }},
      {"open the dataset '/steps/7/rank-0/a'", [](UserFile& file) { file.put("7/rank-0/a/b", {1}); }},
      {"'/steps/7/rank-0/a' is neither of", [](UserFile& file) { file.put<int>("7/rank-0/a", H5T_STD_I32LE, {1}); }},
      {"'/steps/7/rank-0/b' is neither of",
       [](UserFile& file) {
         file.put<std::uint16_t>("7/rank-0/b", H5T_STD_U16LE, {1});
         file.attribute("7/rank-0/b", "dtype", "f32", true);
       }},
      {"'/steps/7/rank-0/soft' is a link",
       [](UserFile& file) {
         file.group("7/rank-0");
         H5Lcreate_soft("/steps", file.id(), "/steps/7/rank-0/soft", H5P_DEFAULT, H5P_DEFAULT);
       }},
      {"'/steps/8' is a link",
       [](UserFile& file) {
         file.put("7/rank-0/a", {1});
         H5Lcreate_external("/dev/zero", "/", file.id(), "/steps/8", H5P_DEFAULT, H5P_DEFAULT);
       }},
      {"has its data in another file",
       [](UserFile& file) {
         file.creation = H5Pcreate(H5P_DATASET_CREATE);
         H5Pset_external(file.creation, "/dev/zero", 0, 4);
         file.put<float>("7/rank-0/a", H5T_IEEE_F32LE, {}, {1});
         H5Pclose(file.creation);
       }},
      {"more than the file can hold",
       [](UserFile& file) { file.put<float>("7/rank-0/a", H5T_IEEE_F32LE, {}, {hsize_t{1} << 58}); }},
      {"'/recorded' has not one number for each of 1 step", [](UserFile& file) {
         file.put("7/rank-0/a", {1});
         file.put<float>("/recorded", H5T_STD_U8LE, {}, {2});
       }}};
  for (const auto& [expected, fill] : files) {
    {
      UserFile file(path());
      fill(file);
    }
    const Status read = read_all();
    EXPECT_EQ(read.code(), Code::Io) << expected;
    EXPECT_TRUE(holds(read.message(), path().string() + ":"));
    EXPECT_TRUE(holds(read.message(), expected));
  }
}

TEST_F(Gradients, WhatIsNoFileIsAnErrorAtOnce) {
  const auto said = [&] { return std::string(read_all().message()); };
  EXPECT_TRUE(holds(said(), "No such file"));
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_TRUE(holds(said(), "it is a pipe, not a regular file"));
}

TEST_F(Gradients, AFileThatIsCutOffIsAnErrorAndNothingWorse) {
  {
    UserFile file(path());
    for (const char* tensor : {"0/rank-0/a", "0/rank-1/a", "1/rank-0/a", "1/rank-1/a"}) {
      file.put(tensor, std::vector<float>(100, 1));
    }
  }
  ASSERT_TRUE(read_all());
  for (auto bytes = static_cast<off_t>(std::filesystem::file_size(path())) - 1; bytes >= 0; bytes -= 61) {
    ASSERT_EQ(::truncate(path().c_str(), bytes), 0);
    EXPECT_EQ(read_all().code(), Code::Io) << bytes;
  }
}

}  // namespace
}  // namespace lacuna::checkpoint
