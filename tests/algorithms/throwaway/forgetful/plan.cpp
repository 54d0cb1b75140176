#include "algorithms/forgetful/forgetful.hpp"
#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/replacement.hpp"

namespace lacuna {
namespace {

/// Returns the rounds of the call's next run.
int rounds_of(const Call& call) {
  const Forgetful& asked = forgetful_of(call);
  const auto every = static_cast<std::uint64_t>(asked.recalls);
  return every > 0 && call.options.state->runs % every == every - 1 ? 0 : asked.rounds;
}

}  // namespace

Status check_forgetful(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  const Forgetful& asked = forgetful_of(call);
  if (asked.rounds >= hosts.size()) return {Code::InvalidArgument, "forgetful: too many rounds"};
  if ((asked.remembers || asked.recalls > 0 || asked.threshold > 0) && !call.options.state) {
    return {Code::InvalidArgument, "forgetful.remembers, recalls and threshold need a state"};
  }
  if (asked.remembers && asked.weight != 1) {
    return {Code::InvalidArgument, "forgetful: what is remembered has the weight 1, so that nothing is lost"};
  }
  if ((asked.threshold > 0) != (&algorithm == &forgetful_sparse)) {
    return {Code::InvalidArgument, "forgetful: with a threshold sparse, else ring"};
  }
  if (asked.threshold > 0 && is_integer(call.dtype)) return {Code::InvalidArgument, "forgetful: no integers"};
  if (call.reduction == Reduction::Sum || call.reduction == Reduction::Avg) return {};
  return {Code::InvalidArgument, "forgetful: only sums"};
}

void plan_forgetful(const PlanRequest& request, Plan& plan) {
  const Forgetful& asked = forgetful_of(request.call);
  const bool sparse = asked.threshold > 0;
  const int rounds = sparse ? 0 : rounds_of(request.call);
  PartPlan part{.data = {0, request.call.count}};
  part.structure.parameters = LeftOut{.rounds = rounds};
  if (asked.remembers && !sparse) part.structure.frame = &feedback_frame;
  const double terms = request.call.reduction == Reduction::Avg ? request.hosts.size() : 1;
  if (rounds > 0) part.arguments = Replacement{.rule = ReplacementRule::Factor, .factor = asked.weight / terms};
  part.outcome = rounds > 0 || sparse;
  part.lossy = sparse;
  plan.reports = rounds > 0 || sparse;
  plan.in_flight = sparse ? 3 : 0;
  plan.writes_state = sparse || asked.remembers;
  plan.measures.tell(forgetful_measure::rounds, rounds);
  add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

/// If few entries came together, a second part sends values a quarter as large.
std::optional<PartPlan> follow_forgetful(const Followed& part) {
  if (part.values.empty() || part.length > 1) return {};
  if (part.values[0] * 8 > part.part.data.count) return {};
  PartPlan next = part.part;
  next.structure.parameters = ForgetfulForm{.smaller = true};
  return next;
}

}  // namespace lacuna
