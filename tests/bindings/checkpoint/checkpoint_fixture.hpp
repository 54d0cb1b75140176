#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/checkpoint/checkpoint.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::checkpoint {

inline testing::AssertionResult holds(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not hold \"" << part << "\"";
}

/// A directory for each test, and checkpoint sets of two ranks whose content follows from the step.
class CheckpointTest : public testing::Test {
 protected:
  static constexpr Rank ranks = 2;

  static std::vector<float> content(std::int64_t step, Rank rank, std::size_t count = 1000) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(step * 1000 + rank * 100 + static_cast<int>(i % 97));
    }
    return values;
  }

  static Status write_set(const std::filesystem::path& directory, std::int64_t step, std::size_t count = 1000) {
    Manifest manifest{.step = step, .files = {}, .config_text = "epochs = 3\n", .config_digest = "d1"};
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::vector<float> values = content(step, rank, count);
      const StateItem item{"weights", Dtype::F32, values.data(), values.size()};
      Result<FileSum> sum = write_rank_file({directory, step, rank, ranks}, {&item, 1}, {{"step", step}});
      if (!sum) return sum.status();
      manifest.files.push_back(*std::move(sum));
    }
    return write_manifest(directory, manifest);
  }

  static void expect_content(const std::filesystem::path& directory, std::int64_t step, std::size_t count = 1000) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::vector<float> values(count);
      const StateItem item{"weights", Dtype::F32, values.data(), values.size()};
      const Result<Attributes> attributes = read_rank_file({directory, step, rank, ranks}, {&item, 1});
      ASSERT_TRUE(attributes) << attributes.status().to_string();
      EXPECT_EQ(*attributes, (Attributes{{"step", step}}));
      EXPECT_EQ(values, content(step, rank, count));
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  const test::Folder folder_;
  const std::filesystem::path directory_ = folder_.path();
};

}  // namespace lacuna::checkpoint
