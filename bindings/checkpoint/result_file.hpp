#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// A named number of a run, such as an accuracy.
struct Metric {
  std::string name;
  double value = 0;
  Attributes about = {};  ///< what readers of the file should know about it, such as its unit
};

/// How far a method had come after some of its steps.
struct ResultRow {
  std::int64_t step = 0;
  std::vector<Metric> metrics;
};

/// One line of the table at the end of a run.
struct SummaryRow {
  std::string method;
  std::vector<Metric> metrics;
};

/// The rows of one method. All have the same metrics in the same order.
struct MethodResults {
  std::string method;
  std::vector<ResultRow> rows;
};

/// The HDF5 file of one experiment run, for h5py, h5dump and the like:
///
///     /                    attributes schema = "lacuna-run", schema_version = 1, then the provenance
///     /methods/<method>    a group for each method, in the order of their first rows, with datasets of equal length:
///         step             int64
///         <metric>         float64, one dataset for each metric, with what is known about it as attributes
///     /summary             a table, absent until it is set: the column "method" (UTF-8, padded with zero bytes) and a
///                          float64 column for each metric
///
/// The file is small. It is held in memory, and each change replaces it as a whole (temporary file, fsync, rename). So
/// it can be opened and read at any moment, whatever happens to its writer. There is only one writer (rank 0), and only
/// one thread at a time uses it. Names of methods and metrics are not empty and hold no '/'. The names "step" and
/// "method" of metrics are taken. Errors are Io, or InvalidArgument for rows that don't fit. After an Io error the old
/// file stands, and the next change writes everything.
class ResultFile {
 public:
  /// Starts a file, in place of one that may be there. The names in the provenance must differ from each other and from
  /// the two of the schema. The provenance has, for instance, the creation time in UTC, lacuna's version, the config's
  /// text and digest, hosts, arguments, seeds, the compiler and libraries.
  static Result<ResultFile> create(std::filesystem::path path, Attributes provenance);
  /// Continues a file, with the provenance that it has.
  static Result<ResultFile> open(std::filesystem::path path);

  /// Adds rows to a method, in ascending order of steps. It first removes the rows that the method already has from the
  /// first of these steps on, because a run that continues from a checkpoint repeats steps.
  Status append(const std::string& method, std::span<const ResultRow> rows);
  /// Sets the summary. All rows must have the same metrics in the same order.
  Status summarise(std::vector<SummaryRow> rows);

  const Attributes& provenance() const { return provenance_; }
  const std::vector<MethodResults>& methods() const { return methods_; }
  const std::vector<SummaryRow>& summary() const { return summary_; }

 private:
  explicit ResultFile(std::filesystem::path path) : path_(std::move(path)) {}
  Status load();
  Status save() const;
  Status check(const std::vector<Metric>& metrics, const std::vector<Metric>& model, const std::string& row) const;

  std::filesystem::path path_;
  Attributes provenance_;
  std::vector<MethodResults> methods_;
  std::vector<SummaryRow> summary_;
};

}  // namespace lacuna::checkpoint
