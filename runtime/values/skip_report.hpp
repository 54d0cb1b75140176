#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// What became of a part of a call that may skip.
enum class SkipOutcome : std::uint8_t {
  Skipped = 0,
  Dense = 1,      ///< as asked for: never skipped, small, or S was 0
  Protected = 2,  ///< dense: its segment is important
  Measured = 3,   ///< dense, to see how important its segment is
};

constexpr std::string_view to_string(SkipOutcome outcome) {
  constexpr std::string_view names[] = {"skipped", "dense", "protected", "measured"};
  return names[static_cast<std::size_t>(outcome)];
}

/// One part of a call: a chunk of a segment, of neighbouring segments that fare alike, or of all data.
struct SkippedPart {
  std::size_t offset = 0;  ///< of its data, in elements; of small segments that travel together, of the first one
  std::size_t count = 0;   ///< elements; of each block where there are blocks
  SkipOutcome outcome = SkipOutcome::Dense;
  Rank fewest = 0;  ///< contributors to one of its elements; 0: nothing is reduced
  double mean = 0;  ///< contributors, over its elements

  friend bool operator==(const SkippedPart&, const SkippedPart&) = default;
};

/// What a call has left out, beside the dense call: that of the same algorithm and the same data with S = 0, as this
/// rank would see it. All of it is counted in the task graphs of the two calls. What a rank moves depends on its
/// position, so where positions are drawn one rank may send more than in the dense call, and another less.
struct SkipReport {
  int steps = 0;                           ///< S
  int gather_steps = 0;                    ///< left out of the second half
  int rounds = 0, dense_rounds = 0;        ///< messages that wait for each other, in the part that has most
  std::uint64_t sent = 0, dense_sent = 0;  ///< payload of this rank, bytes
  std::uint64_t received = 0, dense_received = 0;
  /// Terms, over all elements that are reduced, of all ranks.
  std::uint64_t contributions = 0, dense_contributions = 0;
  std::uint64_t lacking = 0;         ///< elements that other ranks have and this one does not get
  std::vector<SkippedPart> parts{};  ///< none if nothing was left out and there were no segments

  int rounds_saved() const { return dense_rounds - rounds; }
  std::int64_t bytes_saved() const { return static_cast<std::int64_t>(dense_sent - sent); }
  /// The share of all contributions.
  double left_out() const {
    return dense_contributions == 0 ? 0
                                    : 1 - static_cast<double>(contributions) / static_cast<double>(dense_contributions);
  }
};

}  // namespace lacuna
