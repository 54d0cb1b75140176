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
  /// The share of all contributions.
  double (*left_out)(const Hosts& hosts, int steps);
};

/// Null if it does not serve.
const Skipping* skipping_of(const Algorithm& algorithm);
/// Those of skip_method.
extern const std::array<MethodAlgorithm, 7> skip_algorithms;

inline const Skip& skip_of(const Call& call) { return call.options.method.as<Skip>(); }

// The functions of skip_method.

Status check_skip(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
Status skip_ready(const Call& call, Rank size);
void plan_skip(const PlanRequest& request, Plan& plan);
Order skip_order(const Binding& binding, std::uint32_t part);

/// How a segment is treated whatever S is.
enum class Treatment : std::uint8_t {
  Skip,
  Dense,
  Automatic,  ///< by its importance
};
Treatment treatment_of(const Skip& skip, Dtype dtype, const SkipSegment& segment);

/// What the next run does with an automatic segment.
enum class NextRun : std::uint8_t {
  Skip,
  Protect,  ///< it is dense, because it is important
  Measure,  ///< it is dense, and measured
};
/// Of the automatic segment of this number. What follows from the measurements is worked out once and put into the
/// state.
NextRun next_run_of(const Call& call, std::size_t number);
/// Ok, or why the next run can't start with what its state, or another one of its model, knows now.
Status importance_ready(const Call& call);
/// Makes the array of what is measured, if any segment is automatic.
void add_importance(const Skip& skip, Dtype dtype, MethodState& state);

/// The state's array of the last audit.
inline constexpr std::string_view audit_array = "audit";
inline constexpr std::size_t audit_values = 4;

/// Is it time for an audit of the next run of the call, should it skip anything?
bool audit_is_due(const Call& call);

// What each rank does by itself, beside the parts of a call.

/// How many elements an audit of the call reduces densely.
std::size_t samples_of(const Call& call);
/// The stretches of the part go from the input to memory of the run.
extern const Algorithm take_sample;
/// This memory is the input and the output of the program that reduces the sample.
extern const Frame sample_frame;
/// The output against what has become of that: an audit, which the state keeps.
extern const Algorithm compare_with_sample;
/// The magnitudes of the output in automatic segments go into the state.
extern const Algorithm measure_importance;

}  // namespace lacuna
