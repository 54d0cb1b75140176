#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/lowrank/steps.hpp"
#include "algorithms/phases/feedback.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace factoring {
namespace {

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

/// The least number whose square is not below this one.
std::size_t side_of(std::size_t count) {
  auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  while (side * side < count) ++side;
  while (side > 1 && (side - 1) * (side - 1) >= count) --side;
  return std::max<std::size_t>(side, 1);
}

}  // namespace

kernels::MatrixShape shape_of(const LowRank& asked, std::size_t count) {
  return {.count = count,
          .columns = asked.columns > 0 ? asked.columns : side_of(count),
          .rank = static_cast<std::size_t>(asked.rank)};
}

Status check(const Call& call, const Algorithm&, const Hosts&) {
  if (call.dtype != Dtype::F32 && call.dtype != Dtype::F64) {
    return refuse(fmt::format("lowrank of {}: the data must be of f32 or f64", to_string(call.dtype)));
  }
  if (call.reduction != Reduction::Sum && call.reduction != Reduction::Avg) {
    return refuse(fmt::format("lowrank approximates a sum of matrices: the reduction is {}, must be sum or avg",
                              to_string(call.reduction)));
  }
  if (call.options.state) return {};
  return refuse("lowrank needs a state, which keeps the right factor for the next run; give one");
}

Status ready(const Call& call, Rank size) {
  const StateArray* right = call.options.state ? call.options.state->find(right_factor_array) : nullptr;
  const kernels::MatrixShape shape = shape_of(options_of(call), call.count);
  const std::size_t needed = shape.rank * shape.columns;
  if (!right || !is_shorter(shape) || (right->dtype == call.dtype && right->count() == needed)) {
    return check_residual(call, size);
  }
  return refuse(
      fmt::format("the right_factor of this state has {} of {}, this call needs {} of {}: give each tensor a state of "
                  "its own, and keep rank and columns",
                  count_of(right->count(), "element"), to_string(right->dtype), needed, to_string(call.dtype)));
}

void plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const LowRank& asked = options_of(call);
  const kernels::MatrixShape shape = shape_of(asked, call.count);
  PartPlan part{.data = {0, call.count}};
  plan.reports = true;
  if (!is_shorter(shape)) {
    part.program = &allreduce_ring;
    plan.measures.tell(measure::compression, 1);
    return add_parts(call, part, request.hosts.size(), request.chunk_bytes, plan);
  }
  part.structure.parameters = Form{.feedback = asked.feedback};
  part.outcome = 1;
  part.lossy = true;
  plan.parts.push_back(part);
  plan.writes_state = true;
  plan.measures.tell(measure::compression, static_cast<double>(shape.count) / static_cast<double>(elements_of(shape)));
}

int rounds(const PartPlan& part, Rank size) { return (part.program ? 2 : 4) * (size - 1); }

namespace {

double expected_bytes(const ExpectedPart& part) {
  const kernels::MatrixShape shape = factoring::shape_of(options_of(part.call), part.call.count);
  const std::size_t elements = is_shorter(shape) ? elements_of(shape) : shape.count;
  return 2.0 * (part.size - 1) / part.size * static_cast<double>(elements * size_of(part.call.dtype));
}

}  // namespace

constexpr Predictions predictions = {.bytes = expected_bytes};

}  // namespace factoring
}  // namespace lacuna
