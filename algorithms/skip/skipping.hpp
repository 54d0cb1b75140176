#pragma once

#include <array>

#include "algorithms/skip/skip.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/method/method.hpp"

namespace lacuna {

/// What an algorithm leaves out when it skips S rounds, 0 <= S <= most().
struct Skipping {
  MethodAlgorithm algorithm;
  int (*most)(const Hosts& hosts);
  /// Returns the share of all contributions that is left out.
  double (*left_out)(const Hosts& hosts, int steps);
};

/// Returns null if the algorithm does not serve skip_method.
const Skipping* skipping_of(const Algorithm& algorithm);
/// The algorithms of skip_method.
extern const std::array<MethodAlgorithm, 7> skip_algorithms;

inline const Skip& skip_of(const Call& call) { return call.options.method.as<Skip>(); }

// The functions of skip_method.

Status check_skip(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
Status skip_ready(const Call& call, Rank size);
void plan_skip(const PlanRequest& request, Plan& plan);
Order skip_order(const Binding& binding, std::uint32_t part);

/// How a segment is treated, whatever S is.
enum class Treatment : std::uint8_t {
  Skip,
  Dense,
  Automatic,  ///< as its importance says
};
Treatment treatment_of(const Skip& skip, Dtype dtype, const SkipSegment& segment);

/// What the next run does with an automatic segment.
enum class NextRun : std::uint8_t {
  Skip,
  Protect,  ///< it is dense, because it is important
  Measure,  ///< it is dense, and its importance is measured
};
/// `number` counts automatic segments only. What follows from the measurements is worked out once and stored in the
/// state.
NextRun next_run_of(const Call& call, std::size_t number);
/// Returns Ok, or why the next run can't start with what its state, or another state of its model, knows now.
Status importance_ready(const Call& call);
/// Adds the array of measurements to the state if any segment is automatic.
void add_importance(const Skip& skip, Dtype dtype, MethodState& state);

/// The array of the state that holds the last audit.
inline constexpr std::string_view audit_array = "audit";
inline constexpr std::size_t audit_values = 4;

/// Is it time for an audit of the next run of the call, should it skip anything?
bool audit_is_due(const Call& call);

// The following programs compute on each rank alone. Their parts lie beside the other parts of a call.

/// How many elements an audit of the call reduces densely.
std::size_t samples_of(const Call& call);
/// Copies the stretches of the part from the input to run memory.
extern const Algorithm take_sample;
/// Makes this run memory the input and the output of the program that reduces the sample.
extern const Frame sample_frame;
/// Compares the output with the reduced sample. The result is an audit, which the state holds.
extern const Algorithm compare_with_sample;
/// Writes the magnitudes of the output in automatic segments into the state.
extern const Algorithm measure_importance;

}  // namespace lacuna
