#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/cli/shared/provenance.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// How long something takes by its size.
struct TimeCurve {
  struct Point {
    double bytes = 0;
    double seconds = 0;
  };

  std::vector<Point> points{};  ///< ordered by size, at least one

  /// Between two points the time is a power of the size, and beyond the last one it is proportional to the size.
  double seconds(double bytes) const;
};

/// How long a message between two ranks of one host takes, with the reduction of its bytes.
struct MessageTimes {
  Rank ranks = 0;        ///< of the host, while it was measured
  int processors = 0;    ///< of the host
  std::string from{};    ///< where the figures are from
  TimeCurve messages{};  ///< that the transport carries
  TimeCurve rows{};      ///< of a board; as `messages` if the host has no board
  TimeCurve copies{};    ///< of algorithms whose long messages are read from copies (Algorithm::maps_copies)

  /// The figures of the machine of docs/performance.md.
  static const MessageTimes& of_reference();
  /// Reads a file of `lacuna tune`. The error says what is wrong with it.
  static Result<MessageTimes> read(const std::string& path);
  /// The file of `lacuna tune`.
  Json json() const;

  /// Returns which share of a processor each rank had while it was measured. If each has one, a message takes this
  /// share of the time.
  double share() const { return std::min(1.0, static_cast<double>(processors) / ranks); }
};

}  // namespace lacuna::cli
