#pragma once

#include <cstdint>

#include "bindings/cli/perf/bench.hpp"

namespace lacuna::cli {

/// Measures what the calls that are made while it lives copy between host and device. Without a device it does nothing.
class Copies {
 public:
  explicit Copies(Bench& bench);
  /// Fills copied_bytes and copies. figures.iterations says how many iterations were made meanwhile. All ranks call it.
  Status measure(PerfFigures& figures);

 private:
  std::uint64_t copied() const;

  Bench& bench_;
  std::uint64_t before_;
};

}  // namespace lacuna::cli
