#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/graph/plan.hpp"

namespace lacuna {

/// How the entries of ranks lie: if each rank has entries at a share `density` of the places, it returns the share of
/// blocks in which any of `ranks` ranks has an entry, where all places are cut into blocks of `block`.
using Spread = std::function<double(double density, double ranks, std::size_t block)>;
/// Returns the spread in which s ranks together have s^growth times as many entries as one, at places without order.
Spread spread_by_growth(double growth);

/// A part whose messages have lengths that depend on the data, with what is expected of the data.
struct ExpectedPart {
  const Call& call;
  const PartPlan& plan;
  Rank size;
  double places;   ///< how many elements of data each rank brings
  double entries;  ///< how many entries each rank sends
  /// Null: each rank's entries are taken to lie at places of its own, drawn at random.
  Spread spread{};

  /// How many different places the entries of `ranks` ranks have together: `places` at most.
  double entries_of(double ranks) const;
  /// In how many blocks of `block` places any of `ranks` ranks has an entry. The last block may be shorter.
  double blocks_of(double ranks, std::size_t block) const;
};

/// What tools expect of an algorithm whose graphs do not tell how much it sends (MethodAlgorithm::predictions).
struct Predictions {
  /// How many bytes of payload a rank sends, on average over the ranks.
  double (*bytes)(const ExpectedPart& part) = nullptr;
  /// How many bytes the longest chain of messages carries one after another. Null: as many as `bytes` returns.
  double (*path_bytes)(const ExpectedPart& part) = nullptr;
  /// How many entries of its own data a rank sends in this part at most. Null: as many as it has.
  std::uint64_t (*most_entries)(const PartPlan& part) = nullptr;
  /// How many entries the result has. Null: as many as the selections of all ranks have together.
  double (*result_entries)(const ExpectedPart& part) = nullptr;
  /// How many rounds all parts of a usual run have together. A method needs it where a usual run differs from the first
  /// run of a state, because predictions see only the first part of that one. Null: MethodAlgorithm::rounds holds.
  int (*rounds)(const ExpectedPart& part) = nullptr;
};

}  // namespace lacuna
