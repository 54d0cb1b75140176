#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// What is known after one step of a run. Costs are those of all steps of this method and seed so far, on rank 0.
struct StepRow {
  std::string method;
  std::int64_t seed = 0;
  std::int64_t step = 0;  ///< how many are done
  double seconds = 0;
  double waited_seconds = 0;
  double payload_bytes = 0;
  double figure = 0;  ///< what the step returned, such as a training loss; mean over the ranks
};

/// The HDF5 file of all steps of a run. It only grows, and others can read it meanwhile: it is written by SWMR (single
/// writer, multiple readers), so that readers need HDF5 1.10 and open it as h5py.File(path, swmr=True).
///
///     /         attributes schema = "lacuna-steps", schema_version = 1, then those of the caller
///     /steps    a table: "method" (UTF-8, padded with zero bytes), then as float64 "seed", "step", "seconds",
///               "waited_seconds", "payload_bytes" and the figure, under its own name
///
/// Whatever happens to the writer, the rows that append() has written stay readable. Only one thread at a time uses an
/// object. Errors are Io.
class StepTable {
 public:
  struct Layout {
    std::string figure;                ///< the name of the figure
    std::vector<std::string> methods;  ///< all that rows may name
    Attributes attributes;             ///< of the file
  };

  /// Replaces the file by one with these rows, and keeps it open.
  static Result<StepTable> create(std::filesystem::path path, const Layout& layout, std::span<const StepRow> rows);
  StepTable(StepTable&&) noexcept;
  StepTable& operator=(StepTable&&) noexcept;
  ~StepTable();

  /// Adds rows. When it returns, readers see them. After an error the object writes nothing more.
  Status append(std::span<const StepRow> rows);

 private:
  struct Writer;

  explicit StepTable(std::unique_ptr<Writer> writer);

  std::unique_ptr<Writer> writer_;
};

/// The content of a file of steps.
struct Steps {
  Attributes attributes;
  std::string figure;
  std::vector<StepRow> rows;
};

/// Reads a file of steps from a row on, also while it is written.
Result<Steps> read_steps(const std::filesystem::path& path, std::size_t first = 0);

}  // namespace lacuna::checkpoint
