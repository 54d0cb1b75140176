#include "algorithms/forgetful/forgetful.hpp"
#include "algorithms/phases/left_out.hpp"

namespace lacuna {
namespace {

const Forgetful& forgetful_of(const Call& call) { return call.options.method.as<Forgetful>(); }

/// Of the call's next run.
int rounds_of(const Call& call) {
  const Forgetful& asked = forgetful_of(call);
  const auto every = static_cast<std::uint64_t>(asked.recalls);
  return every > 0 && call.options.state->runs % every == every - 1 ? 0 : asked.rounds;
}

}  // namespace

Status check_forgetful(const Call& call, const Algorithm&, const Hosts& hosts) {
  const Forgetful& asked = forgetful_of(call);
  if (asked.rounds >= hosts.size()) return {Code::InvalidArgument, "forgetful: too many rounds"};
  if ((asked.remembers || asked.recalls > 0) && !call.options.state) {
    return {Code::InvalidArgument, "forgetful.remembers and recalls need a state"};
  }
  if (call.reduction == Reduction::Sum || call.reduction == Reduction::Avg) return {};
  return {Code::InvalidArgument, "forgetful: only sums"};
}

void plan_forgetful(const PlanRequest& request, Plan& plan) {
  const Forgetful& asked = forgetful_of(request.call);
  const int rounds = rounds_of(request.call);
  PartPlan part{.data = {0, request.call.count}};
  part.structure.numbers[rounds_left_out] = rounds;
  part.structure.feedback = asked.remembers;
  if (rounds > 0) part.missing = {.rule = Missing::Rule::Factor, .factor = asked.weight};
  part.outcome = rounds > 0;
  plan.reports = rounds > 0;
  plan.numbers[forgetful_rounds] = rounds;
  add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

}  // namespace lacuna
