#include <fmt/format.h>

#include "algorithms/cast/steps.hpp"
#include "algorithms/phases/feedback.hpp"

namespace lacuna::casting {
namespace {

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

Status check_feedback(const Call& call) {
  if (!options_of(call).feedback) return {};
  const CollectiveTraits& traits = traits_of(call.collective);
  if (!traits.reduces) {
    return refuse(
        fmt::format("cast.feedback adds what was rounded off to the terms of the next sum, and {} has none: "
                    "it must be 0",
                    traits.name));
  }
  if (call.reduction != Reduction::Sum && call.reduction != Reduction::Avg) {
    return refuse(
        fmt::format("cast.feedback adds what was rounded off to the terms of the next sum: the reduction is "
                    "{}, must be sum or avg",
                    to_string(call.reduction)));
  }
  if (call.options.state) return {};
  return refuse("cast.feedback needs a state, which keeps what was rounded off; give one, or feedback=0");
}

}  // namespace

Status check(const Call& call, const Algorithm&, const Hosts&) {
  const Dtype to = dtype_of(options_of(call).to);
  if (is_integer(call.dtype) || size_of(call.dtype) <= size_of(to)) {
    return refuse(
        fmt::format("cast of {} to {}: elements must become shorter; data of f64 may become bf16, f16 or "
                    "f32, data of f32 bf16 or f16, and all other data none",
                    to_string(call.dtype), to_string(to)));
  }
  return check_feedback(call);
}

void plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const Cast& asked = options_of(call);
  PartPlan part{.data = {0, call.count}, .outcome = 1, .lossy = true};
  part.structure.parameters = Form{.to = asked.to};
  if (asked.feedback) part.structure.frame = &feedback_frame;
  plan.reports = true;
  plan.writes_state = asked.feedback;
  plan.measures.tell(measure::compression, static_cast<double>(size_of(call.dtype) / size_of(dtype_of(asked.to))));
  add_parts(call, part, request.hosts.size(), request.chunk_bytes, plan);
}

}  // namespace lacuna::casting
