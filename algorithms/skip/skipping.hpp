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
void skip_begun(const Call& call, const void* run);
Order skip_order(const Binding& binding, std::uint32_t part);
void skip_ended(const Ended& run);

/// How a segment is treated whatever S is: dense, or skipped, by itself where its importance decides.
struct Treatment {
  bool dense = false;
  bool automatic = false;
  std::uint64_t key = 0;

  friend bool operator==(const Treatment&, const Treatment&) = default;
};
Treatment treatment_of(const Call& call, const SkipSegment& segment);

/// Calls visit(segment) for those whose importance decides.
template <class Visit>
void each_automatic(const Call& call, Visit visit) {
  for (const SkipSegment& segment : skip_of(call).segments) {
    if (treatment_of(call, segment).automatic) visit(segment);
  }
}

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
/// The magnitudes of the output, of segments whose run measures them.
extern const Algorithm measure_importance;

}  // namespace lacuna
