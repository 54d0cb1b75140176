#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/report.hpp"
#include "runtime/values/structure.hpp"

namespace lacuna {

/// Consecutive elements of a call's data.
struct Stretch {
  std::size_t offset = 0;  ///< in elements
  std::size_t count = 0;   ///< in elements
};

struct Algorithm;

/// One part of a run: a program on some of the call's data.
struct PartPlan {
  Stretch data{};                      ///< its stretch of the call's data; if it has several, only their length
  Structure structure{};               ///< what its graph depends on; the call decides in_place
  int outcome = 0;                     ///< an index into Method::outcomes, for the report; 0: dense
  const Algorithm* program = nullptr;  ///< builds its graph; null: the call's algorithm
  bool lossy = false;                  ///< it differs from the dense call, though its parameters do not show it
  bool beside = false;  ///< no report lists it, as it carries nothing of the result or as its data are listed already
  bool waits = false;   ///< it begins once all parts before it have ended
  Parameters arguments{};               ///< what its kernels and Method::scale are told; no graph depends on it
  std::uint32_t draw = 0;               ///< its number among the parts that carry the result; random draws use it
  std::uint32_t share = 0, shares = 1;  ///< it takes this one of so many even shares of each block that has a table
  std::uint32_t first_stretch = 0, stretches = 0;  ///< so many of Plan::stretches are its data; 0: `data` is

  bool is_dense() const { return !lossy && structure.parameters.are_defaults(); }
};

/// A plan may ask for this many parts in flight.
inline constexpr std::uint32_t most_parts_in_flight = 1 << 20;

/// The parts of a run, in the order in which they begin. Each run makes its plan anew, in the memory of the last plan.
struct Plan {
  std::vector<PartPlan> parts;
  std::vector<Stretch> stretches;
  std::uint32_t in_flight = 0;  ///< so many parts run at a time, at most most_parts_in_flight; 0: as configured
  bool reports = false;         ///< its runs have a report
  bool draws = false;           ///< it makes random choices, for which it takes a draw of the sampler
  bool writes_state = false;    ///< its steps write arrays of the state, which serves one call at a time
  MeasureValues measures{};     ///< values of measures that are CountedBy::Plan, for the report

  /// Makes the plan empty. It will tell measures of this table, of which nothing has been told yet.
  void clear(MeasureTable table = {});
  /// Is every part as it would be without a method?
  bool is_dense() const;
  std::span<const Stretch> stretches_of(const PartPlan& part) const {
    return std::span(stretches).subspan(part.first_stretch, part.stretches);
  }
  /// Stands for everything in the plan that must be equal on all ranks.
  std::uint64_t digest() const;
};

/// Stands for everything in one part that must be equal on all ranks.
std::uint64_t digest_of(const PartPlan& part);

/// A call is cut into at most this many parts. With the default of LACUNA_CHUNK, pieces are longer than a chunk only
/// where a rank's share is longer than 4 GiB. Longer pieces leave the caches before the next step needs them, and
/// exceed the credit.
inline constexpr std::uint32_t most_parts = 1 << 14;

/// The number of parts into which a call like this one, but of so many elements, is cut. It is a power of two of at
/// most most_parts, chosen so that the pieces that travel come near to `chunk_bytes`, and equal on all ranks.
std::uint32_t number_of_parts(const Call& call, std::size_t count, Rank size, std::size_t chunk_bytes);

/// Cuts `stretch` into parts, as if it were a call of its own, and adds them to the plan. A part that has stretches, or
/// lies beside the others, is not cut.
void add_parts(const Call& call, const PartPlan& stretch, Rank size, std::size_t chunk_bytes, Plan& plan);

/// The most bytes that a row of a board holds.
inline constexpr std::size_t board_row_bytes = 4096;
/// The most bytes of a call whose parts go to a board.
inline constexpr std::size_t most_bytes_on_board = most_parts * board_row_bytes / 2;

/// Cuts `stretch`, of most_bytes_on_board at most, into parts that each fit into a row of a board.
void add_rows(const Call& call, const PartPlan& stretch, std::size_t chunk_bytes, Plan& plan);

}  // namespace lacuna
