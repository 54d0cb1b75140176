#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lacuna::workloads {

/// A folder for IDX files that ends with the test.
class IdxFixture : public testing::Test {
 protected:
  IdxFixture()
      : folder_(std::filesystem::temp_directory_path() /
                ("lacuna-idx-" + std::to_string(getpid()) + "-" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~IdxFixture() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::vector<std::uint8_t>& bytes) {
    const std::filesystem::path path = folder_ / name;
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }

  std::filesystem::path folder_;
};

}  // namespace lacuna::workloads
