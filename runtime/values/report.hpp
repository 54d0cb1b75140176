#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/measure.hpp"

namespace lacuna {

struct Method;

/// A stretch of an output that lacks the contribution of a rank; of an allgather, that rank's block.
struct Gap {
  std::size_t offset = 0;  ///< elements
  std::size_t count = 0;
  Rank from = 0;

  friend bool operator==(const Gap&, const Gap&) = default;
};

/// What became of one part of a call with a method: a chunk of a segment, of neighbouring segments that fare alike, or
/// of all data.
struct PartReport {
  std::size_t offset = 0;  ///< of its data, in elements; of small segments that travel together, of the first one
  std::size_t count = 0;   ///< elements; of each block where there are blocks
  int outcome = 0;         ///< into Method::outcomes; 0: dense
  Rank fewest = 0;         ///< contributors to one of its elements; 0: nothing is reduced
  double mean = 0;         ///< contributors, over its elements

  friend bool operator==(const PartReport&, const PartReport&) = default;
};

/// What a call with a method has done, beside the dense call: that of the same algorithm and the same data, without the
/// method, as this rank would see it. What a rank moves depends on its position, so where positions are drawn one rank
/// may send more than in the dense call, and another less.
struct Report {
  const Method* method = nullptr;          ///< null: the call left nothing out, and all below is 0
  int rounds = 0, dense_rounds = 0;        ///< messages that wait for each other, in the part that has most
  std::uint64_t sent = 0, dense_sent = 0;  ///< payload of this rank, bytes
  std::uint64_t received = 0, dense_received = 0;
  /// Terms, over all elements that are reduced, of all ranks.
  std::uint64_t contributions = 0, dense_contributions = 0;
  std::uint64_t lacking = 0;        ///< elements that other ranks have and this one does not get
  MeasureValues measures{};         ///< the method's own; the table is Method::measures
  std::vector<PartReport> parts{};  ///< none if nothing was left out and there were no segments

  int rounds_saved() const { return dense_rounds - rounds; }
  std::int64_t bytes_saved() const { return static_cast<std::int64_t>(dense_sent - sent); }
  /// The share of all contributions.
  double left_out() const {
    return dense_contributions == 0 ? 0
                                    : 1 - static_cast<double>(contributions) / static_cast<double>(dense_contributions);
  }
};

}  // namespace lacuna
