#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/checkpoint/gradient_file.hpp"
#include "bindings/checkpoint/hdf5.hpp"

namespace lacuna::checkpoint {

/// The first name is that of the group of all steps, the second that of the dataset of their marks.
inline constexpr const char* steps_name = "/steps";
inline constexpr const char* recorded_name = "/recorded";

std::string step_name(std::int64_t step);
std::string rank_name(Rank rank);

/// What the functions of this library know about an open file of gradients.
struct GradientFile::Body {
  struct Step {
    std::int64_t number = 0;
    std::string name;  ///< name of its group
    bool complete = true;
  };

  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() {
    const hdf5::Turn turn;
    file = hdf5::File();
  }

  Status load();
  /// Returns null if there is no such step.
  const Step* find(std::int64_t step) const;
  Result<std::string> group_of(std::int64_t step, Rank rank) const;
  /// Returns the members of a group, ordered by name.
  Result<std::vector<std::string>> names(const std::string& group) const;
  /// Opens a dataset after checking its shape and where its data lie.
  Result<hdf5::Dataset> dataset(const std::string& object) const;
  Result<StateItem> describe(const std::string& group, const std::string& name) const;
  Status unexpected(const std::string& object, const std::string& what) const;

  std::filesystem::path path;
  hdf5::File file;
  std::uint64_t bytes = 0;  ///< length of the file
  std::vector<Step> steps;  ///< ascending

 private:
  Status load_marks();
};

}  // namespace lacuna::checkpoint
