#include <algorithm>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/packing.hpp"
#include "algorithms/skip/skipping.hpp"
#include "runtime/values/region.hpp"

namespace lacuna {
namespace {

/// Is the next run of the call one of the first runs, which are dense?
bool warms_up(const Call& call) {
  const Skip& skip = skip_of(call);
  return call.options.state && call.options.state->runs < skip.warm_up;
}

/// Returns S where no schedule says otherwise.
int steps_asked_for(const Skip& skip, const Skipping& skipping, const Hosts& hosts) {
  int steps = skip.steps;
  if (skip.ratio == 0) return steps;
  const int most = skipping.most(hosts);
  while (steps < most && skipping.left_out(hosts, steps + 1) <= skip.ratio + 1e-12) ++steps;
  return steps;
}

/// Returns S of the next run, from the call, its ratio or its schedule; 0 on one rank, whatever these say.
int steps_of(const Call& call, const Skipping& skipping, const Hosts& hosts) {
  const Skip& skip = skip_of(call);
  if (warms_up(call)) return 0;
  int steps = steps_asked_for(skip, skipping, hosts);
  const std::uint64_t runs = call.options.state ? call.options.state->runs : 0;
  for (const SkipStage& stage : skip.schedule) {
    if (runs >= stage.from_run) steps = stage.steps;
  }
  return std::min(steps, skipping.most(hosts));
}

int gather_steps_of(const Call& call, const Skipping& skipping, const Hosts& hosts) {
  return warms_up(call) ? 0 : std::min(skip_of(call).gather_steps, skipping.most(hosts));
}

/// A factor that the rule does not use becomes 1, because it may differ between ranks.
Replacement replacement_of(const Skip& skip) {
  return {.rule = skip.scale,
          .drawn = skip.mode != SkipMode::Static,
          .factor = skip.scale == SkipScale::Factor ? skip.factor : 1};
}

/// Does the next run add the residual? It does so also where nothing is skipped, if earlier runs have left out
/// something.
bool feeds_back(const Call& call, int steps) {
  return skip_of(call).feedback && (steps > 0 || call.options.state->find(residual_array) != nullptr);
}

bool feeds_back_in(const PartPlan& part) { return part.structure.frame == &feedback_frame; }
bool leaves_out(const PartPlan& part) { return !part.structure.parameters.are_defaults(); }

std::ptrdiff_t parts_of(const Plan& plan, SkipOutcome outcome) {
  return std::count_if(plan.parts.begin(), plan.parts.end(),
                       [outcome](const PartPlan& part) { return part.outcome == static_cast<int>(outcome); });
}

/// Returns what holds for all parts that are not dense.
PartPlan skipped_part(const PlanRequest& request) {
  const Call& call = request.call;
  const Skip& skip = skip_of(call);
  const Skipping& skipping = *skipping_of(request.algorithm);
  const int steps = steps_of(call, skipping, request.hosts);
  const int gather_steps = gather_steps_of(call, skipping, request.hosts);
  PartPlan part{.data = {0, call.count}};
  if (feeds_back(call, steps)) part.structure.frame = &feedback_frame;
  if (steps == 0 && gather_steps == 0) return part;
  part.structure.parameters = LeftOut{.rounds = steps, .gather_rounds = gather_steps, .keep = skip.keep};
  part.arguments = replacement_of(skip);
  part.outcome = static_cast<int>(SkipOutcome::Skipped);
  return part;
}

/// Neighbours that are treated alike whatever S is make one stretch, and each stretch gets parts of its own. The
/// stretches that are always dense and shorter than Skip::small share one part. So the parts do not depend on S.
class Segments {
 public:
  Segments(const PlanRequest& request, const PartPlan& skipped, Plan& plan)
      : request_(request), skipped_(skipped), plan_(plan) {}

  void add_all() {
    const auto& segments = skip_of(request_.call).segments;
    PartPlan together;
    for (auto segment = segments.begin(); segment != segments.end();) {
      const Treatment treatment = treatment_of(*segment);
      Stretch data{segment->offset, 0};
      do {
        data.count += segment->count;
        ++segment;
      } while (segment != segments.end() && treatment != Treatment::Automatic && treatment_of(*segment) == treatment);
      const std::size_t number = automatic_;
      automatic_ += treatment == Treatment::Automatic;
      if (data.count == 0) continue;
      if (treatment == Treatment::Dense && data.count * size_of(request_.call.dtype) < skip_of(request_.call).small) {
        plan_.stretches.push_back(data);
        together.data.count += data.count;
      } else {
        add(treatment, number, data);
      }
    }
    together.stretches = static_cast<std::uint32_t>(plan_.stretches.size());
    together.structure.frame = &packing_frame;
    if (together.stretches > 0) add(together);
  }

 private:
  Treatment treatment_of(const SkipSegment& segment) const {
    return lacuna::treatment_of(skip_of(request_.call), request_.call.dtype, segment);
  }
  void add(Treatment treatment, std::size_t number, const Stretch& data) {
    PartPlan stretch = treatment == Treatment::Dense ? PartPlan() : skipped_;
    const NextRun next = treatment == Treatment::Automatic ? next_run_of(request_.call, number) : NextRun::Skip;
    if (next != NextRun::Skip) {
      stretch.structure.parameters = stretch.arguments = {};
      stretch.outcome = static_cast<int>(next == NextRun::Measure ? SkipOutcome::Measured : SkipOutcome::Protected);
    }
    stretch.data = data;
    add(stretch);
  }
  void add(const PartPlan& stretch) {
    add_parts(request_.call, stretch, request_.hosts.size(), request_.chunk_bytes, plan_);
  }

  const PlanRequest& request_;
  const PartPlan& skipped_;
  Plan& plan_;
  std::size_t automatic_ = 0;  // how many automatic segments have been added
};

/// A sample of the input is copied before anything else, reduced densely beside the other parts, and then compared with
/// their result.
void add_audit(const Call& call, Plan& plan) {
  const std::size_t samples = samples_of(call);
  PartPlan part{.data = {0, samples}, .beside = true};
  PartPlan reduction = part;
  reduction.structure.frame = &sample_frame;
  part.first_stretch = static_cast<std::uint32_t>(plan.stretches.size());
  part.stretches = static_cast<std::uint32_t>(samples);
  for (std::size_t i = 0; i < samples; ++i) plan.stretches.push_back({boundary(i, call.count, samples), 1});
  part.program = &take_sample;
  plan.parts.front().waits = true;
  plan.parts.insert(plan.parts.begin(), part);
  plan.parts.push_back(reduction);
  part.program = &compare_with_sample;
  part.waits = true;
  plan.parts.push_back(part);
}

}  // namespace

Treatment treatment_of(const Skip& skip, Dtype dtype, const SkipSegment& segment) {
  const bool is_small = segment.count * size_of(dtype) < skip.small;
  if (is_small || segment.policy == SkipPolicy::Never) return Treatment::Dense;
  return segment.policy == SkipPolicy::Automatic ? Treatment::Automatic : Treatment::Skip;
}

void plan_skip(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const Skip& skip = skip_of(call);
  PartPlan skipped = skipped_part(request);
  const auto left_out = skipped.structure.parameters.as<LeftOut>();
  plan.measures.tell(skip_measure::steps, left_out.rounds);
  plan.measures.tell(skip_measure::gather_steps, left_out.gather_rounds);
  if (!skip.segments.empty() && call.count > 0) {
    Segments(request, skipped, plan).add_all();
  } else {
    add_parts(call, skipped, request.hosts.size(), request.chunk_bytes, plan);
  }
  const auto measured = parts_of(plan, SkipOutcome::Measured);
  plan.measures.tell(skip_measure::protected_parts, static_cast<double>(parts_of(plan, SkipOutcome::Protected)));
  plan.measures.tell(skip_measure::measured_parts, static_cast<double>(measured));
  const bool skips = std::any_of(plan.parts.begin(), plan.parts.end(), leaves_out);
  const bool has_nobody_to_skip = request.hosts.size() == 1 && skip.is_on();
  plan.reports = skips || has_nobody_to_skip || !skip.segments.empty();
  plan.draws = skips && skip.mode != SkipMode::Static;
  plan.writes_state = measured > 0 || std::any_of(plan.parts.begin(), plan.parts.end(), feeds_back_in);
  if (measured > 0) {
    plan.parts.push_back({.data = {0, call.count}, .program = &measure_importance, .beside = true, .waits = true});
  }
  if (skips && call.count > 0 && audit_is_due(call)) add_audit(call, plan);
}

}  // namespace lacuna
