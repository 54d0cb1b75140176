#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// A number for each evaluation of a method.
struct ResultColumn {
  std::string name;
  std::vector<double> values{};  ///< one for each evaluation
  Attributes about{};            ///< what readers of the file should know about it, such as its unit
  /// The values of each rank where they differ: for each evaluation one for each rank. Empty: they do not differ.
  std::vector<double> by_rank{};
};

/// What one method has done with one seed.
struct MethodResults {
  std::string method;
  std::int64_t seed = 0;
  Attributes about{};
  std::vector<std::int64_t> steps{};  ///< how many were done at each evaluation; ascending
  std::vector<ResultColumn> columns{};
};

/// A named number of a line of the table.
struct Metric {
  std::string name;
  double value = 0;
};

/// One line of the table at the end of a run.
struct SummaryRow {
  std::string method;
  std::vector<Metric> metrics;
};

/// All that an experiment's result file says.
struct RunResults {
  Attributes provenance;
  std::vector<MethodResults> methods;  ///< the seeds of a method need not follow each other
  std::vector<SummaryRow> summary;     ///< all have the same metrics in the same order
  Attributes about_summary{};          ///< what readers should know about the table
};

/// The version of the layout below.
constexpr std::int64_t result_version = 3;

/// Replaces the result file of an experiment. It is an HDF5 file for h5py, h5dump and the like:
///
///     /                                  attributes schema = "lacuna-run", schema_version = 3, then the provenance
///     /methods/<method>/seed-<seed>      a group for each method and seed, with datasets of equal length:
///         step                           int64
///         <column>                       float64; its attributes say what it is
///         by_rank/<column>               float64, a row for each step and a column for each rank
///     /summary                           a table, absent until a method has finished: the column "method" (UTF-8,
///                                        padded with zero bytes) and a float64 column for each metric
///
/// It begins with a digest, which is checked before it is read (sealed_file.hpp).
/// The file is written as a whole (temporary file, fsync, rename), so it can be opened and read at any moment, whatever
/// happens to its writer. Names of methods and columns are not empty and hold no '/'. The names "step", "method" and
/// "by_rank" are taken. Errors are Io, or InvalidArgument for results that don't fit together; then the old file
/// stands.
Status write_results(const std::filesystem::path& path, const RunResults& results);

/// Reads a result file. It is Io if the file is none, is damaged, or is of another version; the error then names the
/// version of lacuna that has written it.
Result<RunResults> read_results(const std::filesystem::path& path);

}  // namespace lacuna::checkpoint
