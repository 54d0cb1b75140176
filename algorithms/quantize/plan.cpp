#include <fmt/format.h>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/quantize/steps.hpp"

namespace lacuna::quantizing {
namespace {

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

Status check_shape(const Quantize& asked) {
  if (asked.bits != 4 && asked.bits != 8) return refuse(fmt::format("quantize.bits is {}, must be 4 or 8", asked.bits));
  if (asked.block % 4 == 0) return {};
  return refuse(fmt::format("quantize.block is {}, must be a multiple of 4", asked.block));
}

Status check_reduction(const Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (!traits.reduces) {
    if (!options_of(call).feedback) return {};
    return refuse(
        fmt::format("quantize.feedback adds what was rounded off to the terms of the next sum, and {} has none: give "
                    "feedback=0",
                    traits.name));
  }
  if (call.reduction == Reduction::Sum || call.reduction == Reduction::Avg) return {};
  return refuse(fmt::format("quantize rounds the terms of a sum by chance: the reduction is {}, must be sum or avg",
                            to_string(call.reduction)));
}

}  // namespace

Status check(const Call& call, const Algorithm&, const Hosts&) {
  if (call.dtype != Dtype::F32 && call.dtype != Dtype::F64) {
    return refuse(fmt::format("quantize of {}: the data must be of f32 or f64", to_string(call.dtype)));
  }
  if (Status valid = check_shape(options_of(call)); !valid) return valid;
  if (Status valid = check_reduction(call); !valid) return valid;
  if (call.options.state) return {};
  return refuse("quantize needs a state, which counts the runs, so that each run rounds in a way of its own; give one");
}

void plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const Quantize& asked = options_of(call);
  PartPlan part{.data = {0, call.count}, .outcome = 1, .lossy = true};
  if (asked.feedback) part.structure.frame = &feedback_frame;
  plan.reports = true;
  plan.writes_state = asked.feedback;
  const double bytes = static_cast<double>(shape_of(call).message_bytes(asked.block));
  plan.measures.tell(measure::compression, static_cast<double>(asked.block * size_of(call.dtype)) / bytes);
  add_parts(call, part, request.hosts.size(), request.chunk_bytes, plan);
}

}  // namespace lacuna::quantizing
