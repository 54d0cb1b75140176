#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/measure.hpp"

namespace lacuna {

struct Method;

/// A stretch of an output that lacks the contribution of a rank. In an allgather, it is the block of that rank.
struct Gap {
  std::size_t offset = 0;  ///< in elements
  std::size_t count = 0;   ///< in elements
  Rank from = 0;           ///< whose contribution it lacks

  friend bool operator==(const Gap&, const Gap&) = default;
};

/// What became of one part of a call with a method. A part lies in one segment, in neighbouring segments that are
/// treated alike, or anywhere in the data if there are no segments.
struct PartReport {
  std::size_t offset = 0;  ///< where its data begin, or the first of several small segments, in elements
  std::size_t count = 0;   ///< elements of its data; of each block, where there are blocks
  int outcome = 0;         ///< an index into Method::outcomes; 0: dense
  Rank fewest = 0;         ///< the least number of contributors to one of its elements; 0: nothing is reduced
  double mean = 0;         ///< the mean number of contributors to its elements

  friend bool operator==(const PartReport&, const PartReport&) = default;
};

/// What a call with a method has done on this rank, compared with the dense call: the same algorithm on the same data,
/// without the method. What a rank sends depends on its position. So where positions are drawn, one rank may send more
/// than in the dense call, and another one less.
struct Report {
  const Method* method = nullptr;                  ///< null: the call left nothing out, and all other members are 0
  int rounds = 0, dense_rounds = 0;                ///< rounds of the part that has the most
  std::uint64_t sent = 0, dense_sent = 0;          ///< payload that this rank has sent, in bytes
  std::uint64_t received = 0, dense_received = 0;  ///< payload that this rank has received, in bytes
  /// The number of terms in the sums of all ranks, over all elements that are reduced.
  std::uint64_t contributions = 0, dense_contributions = 0;
  std::uint64_t lacking = 0;        ///< number of elements that other ranks have and this one does not get
  MeasureValues measures{};         ///< the method's own measures, with the table Method::measures
  std::vector<PartReport> parts{};  ///< empty if nothing was left out and there were no segments

  int rounds_saved() const { return dense_rounds - rounds; }
  std::int64_t bytes_saved() const { return static_cast<std::int64_t>(dense_sent - sent); }
  /// The share of the contributions that is left out, from 0 to 1.
  double left_out() const {
    return dense_contributions == 0 ? 0
                                    : 1 - static_cast<double>(contributions) / static_cast<double>(dense_contributions);
  }
};

}  // namespace lacuna
