#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/phases/replacement.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/measure.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/method_state.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// Which ranks' contributions SkipReduce leaves out. There are P ranks.
enum class SkipMode : std::uint8_t {
  Static = 0,    ///< the same in every call
  Random = 1,    ///< the ranks are rotated by a draw for each part of each call: P patterns
  Shuffled = 2,  ///< the order of the ranks is drawn for each part of each call: P! orders
};
inline constexpr std::string_view skip_mode_names[] = {"static", "random", "shuffled"};

/// What replaces the contributions that are left out. The factor is Skip::factor.
using SkipScale = ReplacementRule;

/// How a segment is treated.
enum class SkipPolicy : std::uint8_t {
  Skip = 0,       ///< as the call says
  Never = 1,      ///< dense
  Automatic = 2,  ///< dense where it is important (algorithms/skip/importance.hpp)
};
inline constexpr std::string_view skip_policy_names[] = {"skip", "never", "automatic"};

constexpr std::string_view to_string(SkipMode mode) { return skip_mode_names[static_cast<std::size_t>(mode)]; }
constexpr std::string_view to_string(SkipPolicy policy) { return skip_policy_names[static_cast<std::size_t>(policy)]; }

template <>
inline constexpr std::span<const std::string_view> names_of<SkipMode>{skip_mode_names};
template <>
inline constexpr std::span<const std::string_view> names_of<SkipPolicy>{skip_policy_names};

/// A stretch of the data of an allreduce. Segments ascend and cover all of the data. If a segment becomes Never or
/// small, its residual stays as it is until the segment is skipped again.
struct SkipSegment {
  std::size_t offset = 0;  ///< elements
  std::size_t count = 0;
  SkipPolicy policy = SkipPolicy::Skip;
};

/// From run `from_run` of a state on, S is `steps`.
struct SkipStage {
  std::uint64_t from_run = 0;
  int steps = 0;
};

/// What a dense reduction of a sample has shown of a call's result at the same places.
struct SkipAudit {
  std::uint64_t run = 0;      ///< the run of the state, the first is 1; 0: there was no audit yet
  std::uint64_t samples = 0;  ///< elements
  double relative_error = 0;  ///< L2 norm of result - dense, over that of dense; NaN: only the dense result is zero
  double cosine = 0;          ///< cosine of the angle between result and dense result; NaN: exactly one of them is zero
};

/// Returns the last audit of a state.
SkipAudit audit_of(const MethodState& state);

/// SkipReduce (Kasan, Abts, Choi, Kim, MICRO 2025) leaves out contributions of a call to save rounds. It serves sum and
/// avg. options.def says what the members mean. They must be equal on all ranks, except for those that the call does
/// not use, such as the factor of another scale.
struct Skip {
  static constexpr double most_steps = std::numeric_limits<int>::max();
  static constexpr double most_runs = 1e15;
  static constexpr double most_factor = 1e300;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/skip/options.def"
#undef LACUNA_OPTION
  std::vector<SkipSegment> segments{};  ///< for an allreduce; if there are none, all of the data are skipped

  /// Does any run leave something out, or add what was left out before?
  bool is_on() const { return steps != 0 || ratio != 0 || gather_steps != 0 || feedback || !schedule.empty(); }
};

/// Makes the value of Options::method.
MethodOptions skip(Skip options);

extern const Method skip_method;

/// What becomes of a part of a call that may skip. It is PartReport::outcome.
enum class SkipOutcome : int {
  Dense = 0,  ///< as asked for: its segments are never skipped or small, or S is 0
  Skipped = 1,
  Protected = 2,  ///< dense, because its segment is important
  Measured = 3,   ///< dense, to measure how important its segment is
};

/// The measures of skip. Its reports have these beside the numbers that all reports have.
namespace skip_measure {
inline constexpr Measure steps = {.name = "steps",
                                  .help = "S, the rounds left out of the reduction",
                                  .unit = Unit::Rounds,
                                  .by = CountedBy::Plan,
                                  .role = MeasureRole::Headline};
inline constexpr Measure gather_steps = {
    .name = "gather_steps", .help = "rounds left out of the second half", .unit = Unit::Rounds, .by = CountedBy::Plan};
inline constexpr Measure protected_parts = {.name = "protected_parts",
                                            .help = "parts that are dense because their segment is important",
                                            .unit = Unit::Parts,
                                            .by = CountedBy::Plan};
inline constexpr Measure measured_parts = {.name = "measured_parts",
                                           .help = "parts that are dense to see how important their segment is",
                                           .unit = Unit::Parts,
                                           .by = CountedBy::Plan};
inline constexpr Measure audits = {.name = "audits", .help = "audits with a finite error", .unit = Unit::Calls};
inline constexpr Measure audit_error = {
    .name = "audit_error", .help = "the relative errors that audits have found", .unit = Unit::Ratio};
}  // namespace skip_measure

}  // namespace lacuna
