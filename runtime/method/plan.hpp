#pragma once

#include <cstddef>
#include <cstdint>
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

/// What stands in a sum for terms that are left out.
struct Missing {
  enum class Rule : std::uint8_t {
    Zeros,         ///< avg divides by the number of all ranks all the same
    Renormalised,  ///< the mean of the others: avg divides by their number, sum is multiplied by all over that
    Factor,        ///< zeros; sum and avg are the sum of the others times `factor`
  };

  Rule rule = Rule::Zeros;
  bool drawn = false;  ///< which terms are there is drawn: their number is that of Chance, where the program tells one
  double factor = 1;
};

/// One graph on one segment of a call's data.
struct PartPlan {
  Stretch data{};         ///< of a packed part, only its length counts
  Structure structure{};  ///< all but in_place
  Missing missing{};
  int outcome = 0;         ///< into Method::outcomes, for the report; 0: dense
  bool is_sample = false;  ///< it reduces Plan::sample elements of the input, evenly spread, beside the others
  std::uint32_t first_packed = 0, packed = 0;  ///< the stretches that travel together in it, of Plan::packed

  /// Its data are gathered from several places into memory of their own.
  bool is_packed() const { return packed > 0 || is_sample; }
  bool is_dense() const { return structure.numbers == Structure().numbers; }
};

/// The parts of a run, in the order in which they begin; made anew for each run, in vectors that are used again.
struct Plan {
  std::vector<PartPlan> parts;
  std::vector<Stretch> packed;
  std::size_t sample = 0;   ///< elements of the input that its last part reduces beside the others; 0: it has none
  bool reports = false;     ///< its runs have a report
  bool draws = false;       ///< it has random choices: the sampler's draw is taken
  MethodNumbers numbers{};  ///< that it knows already, for the report

  void clear();
  /// Every part is as it would be without a method.
  bool is_dense() const;
  /// Stands for all of it that must be equal on all ranks.
  std::uint64_t digest() const;
};

/// How many parts a call is cut into: a power of two of at most 64, from values equal on all ranks, so that the pieces
/// that travel come near to `chunk_bytes`.
std::uint32_t number_of_parts(const Call& call, Rank size, std::size_t chunk_bytes);

/// Adds a stretch of the call's data, cut as a call of its own, or left whole if it is packed.
void add_parts(const Call& call, const PartPlan& stretch, Rank size, std::size_t chunk_bytes, Plan& plan);

}  // namespace lacuna
