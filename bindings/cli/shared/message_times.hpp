#pragma once

#include <string>
#include <vector>

#include "bindings/cli/shared/provenance.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// How long a message between two ranks of one host takes by its size, with the reduction of its bytes.
struct MessageTimes {
  struct Point {
    double bytes = 0;
    double seconds = 0;
  };

  Rank ranks = 0;               ///< of the host, while it was measured
  int processors = 0;           ///< of the host
  std::string from{};           ///< where the figures are from
  std::vector<Point> points{};  ///< ordered by size, at least one

  /// The figures of the machine of docs/performance.md.
  static const MessageTimes& of_reference();
  /// Reads a file of `lacuna tune`. The error says what is wrong with it.
  static Result<MessageTimes> read(const std::string& path);
  /// The file of `lacuna tune`.
  Json json() const;

  /// Returns the time if each rank has a processor. Between two points it is a power of the size, and beyond the last
  /// one it is proportional to the size. If the ranks were more than the processors when it was measured, each had one
  /// for a part of the time only.
  double seconds(double bytes) const;
};

}  // namespace lacuna::cli
