#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/fd.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// A number for each step, such as a training loss.
struct StepColumn {
  std::string name;
  Attributes about{};            ///< what readers of the file should know about it, such as its unit
  std::vector<double> values{};  ///< one for each place; NaN for a step that is not known
};

/// What is known of the steps of some work, while it goes on and afterwards.
struct StepTable {
  Attributes about{};
  std::vector<std::uint8_t> known{};  ///< for each place whether its step is known; step i has the place i - 1
  std::vector<StepColumn> columns{};

  std::size_t places() const { return known.size(); }
};

/// The version of the layout below.
constexpr std::int64_t step_file_version = 2;

/// The file of a StepTable. One process writes it step by step, and others may read it at any moment:
///
///     /           attributes schema = "lacuna-steps", schema_version = 2, then those of the table
///     /step       int64: the number of each step, counted from 1, or 0 if it is not known yet
///     /<column>   float64; its attributes say what it is
///
/// It begins with a digest of all bytes but the elements of the datasets, which is checked before it is read
/// (sealed_file.hpp). The length of all datasets is the number of places. It does not change: only their elements do,
/// and the file is never open in HDF5 for writing. So a reader needs no special mode and meets no lock, a full disk is
/// found when the file is made, and a killed writer leaves a file that can be read. The number of a step is written
/// after its other numbers.
class StepFile {
 public:
  /// Makes the file, with the columns of a table whose values are empty, and so many places. The first `kept` steps are
  /// taken over from `earlier`, if it knows them. No column may be called "step". Errors are Io, or InvalidArgument for
  /// names and texts that HDF5 can't store.
  static Result<StepFile> make(const std::filesystem::path& path, StepTable table, std::size_t places,
                               const StepTable& earlier, std::size_t kept);

  /// Writes steps that follow each other. `first` is the number of steps before them; `rows` has for each of them one
  /// number for each column. Errors are Io.
  Status write(std::size_t first, std::span<const double> rows) const;

 private:
  StepFile(std::filesystem::path path, std::size_t places) : path_(std::move(path)), places_(places) {}

  Status put(const void* data, std::size_t count, std::uint64_t begin, std::size_t first) const;

  std::filesystem::path path_;
  std::size_t places_;
  std::vector<std::uint64_t> begins_;  // where the elements of "step" and then of each column begin in the file
  runtime::Fd file_;
};

/// Reads a file that StepFile has made, also while it is written. It is Io if it is none, or of another version.
Result<StepTable> read_steps(const std::filesystem::path& path);

}  // namespace lacuna::checkpoint
