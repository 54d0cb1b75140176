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
  Attributes about = {};  ///< what readers of the file should know of it, such as its unit
};

/// How a method stood after some of its steps.
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
///     /methods/<method>    a group per method, in the order of their first rows, with datasets of equal length:
///         step             int64
///         <metric>         float64, one dataset per metric, with what is known about it as attributes
///     /summary             a table: the column "method" (UTF-8, padded with zero bytes) and a float64 column per
///     metric;
///                          absent until it is set
///
/// The file is small: it is held in memory and replaced as a whole with each change (temporary file, fsync, rename), so
/// that it can be opened and read at any moment, whatever happens to its writer. One writer only (rank 0); one thread
/// at a time. Names of methods and metrics are not empty and hold no '/'; the metric "step" is taken. Errors are Io,
/// or InvalidArgument for rows that don't fit. After an Io error the old file stands and the next change writes
/// everything.
class ResultFile {
 public:
  /// Starts a file, in place of one that may be there. The provenance's names differ from each other and from the
  /// schema's two: creation time in UTC, lacuna's version, the config's text and digest, hosts, arguments, seeds,
  /// compiler, libraries ...
  static Result<ResultFile> create(std::filesystem::path path, Attributes provenance);
  /// Continues a file; its provenance stays.
  static Result<ResultFile> open(std::filesystem::path path);

  /// Adds rows to a method, in ascending order of steps. Rows that it already has from the first of these steps on
  /// are replaced: a run that continues from a checkpoint repeats steps.
  Status append(const std::string& method, std::span<const ResultRow> rows);
  /// Sets the summary. All rows have the same metrics in the same order.
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
