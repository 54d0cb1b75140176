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

/// A stretch of a call's data, in elements.
struct Stretch {
  std::size_t offset = 0;
  std::size_t count = 0;
};

struct Algorithm;

/// One graph on one segment of a call's data.
struct PartPlan {
  Stretch data{};                       ///< where it has stretches, only its length counts
  Structure structure{};                ///< all but in_place
  int outcome = 0;                      ///< into Method::outcomes, for the report; 0: dense
  const Algorithm* program = nullptr;   ///< builds it; null: the call's algorithm
  bool lossy = false;                   ///< not what it would be without a method, whatever its structure says
  bool beside = false;                  ///< it carries nothing of the result: in no report of parts
  bool waits = false;                   ///< it begins once all parts before it have ended
  Parameters arguments{};               ///< what its kernels and Method::scale are told, and no graph depends on
  std::uint32_t draw = 0;               ///< which of those that carry the result it is: so it draws
  std::uint32_t share = 0, shares = 1;  ///< it takes this one of so many even shares of each block with a table
  std::uint32_t first_stretch = 0, stretches = 0;  ///< where its data lie, of Plan::stretches; 0: in one place

  bool is_dense() const { return !lossy && structure.parameters.are_defaults(); }
};

/// A plan may ask for this many parts in flight.
inline constexpr std::uint32_t most_parts_in_flight = 1 << 20;

/// The parts of a run, in the order in which they begin; made anew for each run, in vectors that are used again.
struct Plan {
  std::vector<PartPlan> parts;
  std::vector<Stretch> stretches;
  std::uint32_t in_flight = 0;  ///< so many parts run at a time, at most most_parts_in_flight; 0: as configured
  bool reports = false;         ///< its runs have a report
  bool draws = false;           ///< it has random choices: the sampler's draw is taken
  bool writes_state = false;    ///< its steps write arrays of the state, which serves one call at a time
  MeasureValues measures{};     ///< those that are CountedBy::Plan, for the report

  /// It has no parts, and nothing has been told of the measures in this table.
  void clear(MeasureTable table = {});
  /// Every part is as it would be without a method.
  bool is_dense() const;
  std::span<const Stretch> stretches_of(const PartPlan& part) const {
    return std::span(stretches).subspan(part.first_stretch, part.stretches);
  }
  /// Stands for all of it that must be equal on all ranks.
  std::uint64_t digest() const;
};

/// Stands for what must be equal on all ranks of one part.
std::uint64_t digest_of(const PartPlan& part);

/// How many parts a call of so many elements, otherwise like this one, is cut into: a power of two of at most 64, from
/// values equal on all ranks, so that the pieces that travel come near to `chunk_bytes`.
std::uint32_t number_of_parts(const Call& call, std::size_t count, Rank size, std::size_t chunk_bytes);

/// Adds a stretch of the call's data, cut as a call of its own, or left whole if it has stretches or lies beside.
void add_parts(const Call& call, const PartPlan& stretch, Rank size, std::size_t chunk_bytes, Plan& plan);

}  // namespace lacuna
