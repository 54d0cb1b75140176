#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/not_finite.hpp"
#include "algorithms/skip/skipping.hpp"

namespace lacuna {
namespace {

const Skip& as_skip(const void* options) { return *static_cast<const Skip*>(options); }
bool has_factor(const void* options) { return as_skip(options).scale == SkipScale::Factor; }
bool is_automatic(const void* options) {
  const Skip& asked = as_skip(options);
  return asked.policy == SkipPolicy::Automatic ||
         std::any_of(asked.segments.begin(), asked.segments.end(),
                     [](const SkipSegment& segment) { return segment.policy == SkipPolicy::Automatic; });
}
bool has_audits(const void* options) { return as_skip(options).audit > 0; }

constexpr auto most_steps = Skip::most_steps, most_runs = Skip::most_runs, most_factor = Skip::most_factor;

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&Skip::name>(#name, {least, most}, counts, help),
#include "algorithms/skip/options.def"
#undef LACUNA_OPTION
};

constexpr std::array measures = {&skip_measure::steps,
                                 &skip_measure::gather_steps,
                                 &skip_measure::protected_parts,
                                 &skip_measure::measured_parts,
                                 &skip_measure::audits,
                                 &skip_measure::audit_error,
                                 &dropped_elements};
constexpr std::string_view examples[] = {"steps=1",
                                         "steps=1,mode=random",
                                         "steps=2,mode=shuffled,scale=renormalised",
                                         "steps=1,mode=random,feedback=1",
                                         "ratio=0.5,audit=2,audit_samples=16",
                                         "steps=1,gather_steps=1,incomplete=1"};
constexpr std::string_view outcomes[] = {"dense", "skipped", "protected", "measured"};

struct Choice {
  std::string_view algorithm, reason;
};

/// A ratio means the same for all algorithms, but steps are rounds of the ring. two_level needs ranks in place on their
/// hosts.
Choice choice(const Call& call, const Hosts& hosts) {
  const Skip& asked = skip_of(call);
  if (call.collective != Collective::Allreduce) return {"ring", "no other one serves this collective"};
  if (asked.ratio == 0 || asked.gather_steps > 0 || !asked.schedule.empty()) {
    return {"ring", "the steps that are asked for are rounds of the ring"};
  }
  if (hosts.count() < 2 || hosts.ranks_on_each() < 2) return {"ring", "hosts have no groups of ranks of equal size"};
  if (asked.mode == SkipMode::Shuffled || asked.reversed) return {"ring", "only it takes the ranks in any order"};
  return {"two_level", "it sends the least between hosts, and a ratio means the same for all algorithms"};
}

std::string_view preferred(const Call& call, const Hosts& hosts) { return choice(call, hosts).algorithm; }
std::string_view reason(const Call& call, const Hosts& hosts) { return choice(call, hosts).reason; }

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (as_skip(given).feedback) state.array(residual_array, dtype, elements, true);
  add_importance(as_skip(given), dtype, state);
  if (as_skip(given).audit > 0) state.array(audit_array, Dtype::F64, audit_values, false);
}

}  // namespace

MethodOptions skip(Skip given) { return {skip_method, std::make_shared<const Skip>(std::move(given))}; }

const Method skip_method = {
    .name = "skip",
    .summary = "SkipReduce: rounds of a reduction left out, at random or selectively",
    .options = options,
    .measures = measures,
    .outcomes = outcomes,
    .algorithms = skip_algorithms,
    .examples = examples,
    .make = option::make<Skip>,
    .is_on = [](const void* given) { return as_skip(given).is_on(); },
    .preferred = preferred,
    .reason = reason,
    .check = check_skip,
    .ready = skip_ready,
    .scale = scale_replaced,
    .state = add_arrays,
    .plan = plan_skip,
    .order = skip_order,
};

}  // namespace lacuna
