#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/sketch/steps.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna::sketching {
namespace {

/// The outcomes of the method.
enum Outcome : int { Reduced = 1, Sketched = 2, Peeled = 3 };

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

bool is_sum(const Call& call) { return call.reduction == Reduction::Sum || call.reduction == Reduction::Avg; }

LastUnion last_union_of(const MethodState& state) {
  LastUnion last;
  const StateArray* array = state.find(last_union_array);
  if (array && array->bytes.size() == sizeof(last)) std::memcpy(&last, array->bytes.data(), sizeof(last));
  return last;
}

std::uint64_t seed_of(const MethodState& state) {
  Sampler sampler = state.sampler;
  sampler.draw = state.runs + 1;
  return bounded_draw(sampler, 0, 4294967295u);
}

std::uint64_t whole(double number) { return static_cast<std::uint64_t>(std::clamp(number, 1.0, most_blocks)); }

Status check_count_sketch(const Call& call) {
  const Sketch& asked = options_of(call);
  if (is_integer(call.dtype)) {
    return refuse(fmt::format("count_sketch of {}: the data must be of floating point; compaction takes all types",
                              to_string(call.dtype)));
  }
  if (asked.estimate == SketchEstimate::Mean || asked.rows % 2 == 1) return {};
  return refuse(
      fmt::format("sketch.rows is {}: a median needs an odd number of rows; give one, or estimate=mean", asked.rows));
}

/// The plan of a count sketch. It predicts by the last union whether the sketch will be shorter than the union.
void choose_count_sketch(const Call& call, Form& form, Arguments& with) {
  const Sketch& asked = options_of(call);
  const LastUnion last = last_union_of(*call.options.state);
  form.feedback = asked.feedback;
  form.cells = cells_for(call.dtype);
  if (asked.columns == 0 && last.elements == 0) return;
  with.buckets = buckets_for(asked, static_cast<double>(last.elements));
  const bool is_shorter = sketch_is_shorter(call, with, static_cast<std::uint64_t>(last.elements));
  form.stage = last.is_known != 0 && is_shorter ? Stage::Both : Stage::Map;
}

void choose_peel(const Call& call, Form& form, Arguments& with) {
  const LastUnion last = last_union_of(*call.options.state);
  form.cells = is_integer(call.dtype) ? Cells::I64 : Cells::F64;
  if (last.blocks == 0) return;
  form.stage = Stage::Peel;
  with.buckets = whole(std::ceil(options_of(call).cells_per_key * static_cast<double>(last.blocks) / rows_to_peel));
}

PartPlan next_part(const PartPlan& part, Form form, Stage stage, Outcome outcome) {
  PartPlan next = part;
  form.stage = stage;
  next.structure.parameters = form;
  next.outcome = outcome;
  return next;
}

}  // namespace

Status check(const Call& call, const Algorithm& algorithm, const Hosts&) {
  const Sketch& asked = options_of(call);
  const std::size_t blocks = kernels::BlockGrid{call.count, asked.block}.count();
  if (static_cast<double>(blocks) > most_blocks) {
    return refuse(fmt::format("sketch of {} of {}: at most {} are allowed; give a longer block, or cut the call",
                              count_of(blocks, "block"), count_of(asked.block, "element"), most_blocks));
  }
  if (&algorithm == &compaction) return {};
  if (!is_sum(call)) {
    return refuse(
        fmt::format("{} adds up what shares a cell: the reduction is {}, must be sum or avg; compaction "
                    "takes all reductions",
                    algorithm.name, to_string(call.reduction)));
  }
  if (!call.options.state) {
    return refuse(
        fmt::format("{} needs a state, which keeps how large the last union was and counts the runs; give "
                    "one, or the algorithm compaction",
                    algorithm.name));
  }
  return &algorithm == &count_sketch ? check_count_sketch(call) : Status();
}

Status ready(const Call& call, Rank size) {
  const StateArray* last = call.options.state ? call.options.state->find(last_union_array) : nullptr;
  if (!last || (last->dtype == Dtype::I64 && last->count() == last_union_words)) return check_residual(call, size);
  return refuse(
      fmt::format("the last_union of this state has {} of {}, this call needs {} of i64: give each method a "
                  "state of its own",
                  count_of(last->count(), "element"), to_string(last->dtype), last_union_words));
}

std::string_view preferred(const Call& call, const Hosts&) {
  return is_integer(call.dtype) || !is_sum(call) ? "compaction" : "count_sketch";
}

std::string_view reason(const Call& call, const Hosts& hosts) {
  return preferred(call, hosts) == "count_sketch" ? "it sends the fewest cells"
                                                  : "sketches of sums hold floating-point sums only";
}

bool lossless(const Call& call, const Hosts& hosts, std::size_t entries) {
  const Sketch& asked = options_of(call);
  const std::string_view name = call.options.algorithm.empty() ? preferred(call, hosts) : call.options.algorithm;
  if (name != count_sketch.name || asked.columns == 0) return true;
  const double all = static_cast<double>(entries) * static_cast<double>(asked.block) * hosts.size();
  const auto most = static_cast<std::uint64_t>(std::min(all, static_cast<double>(call.count)));
  return !sketch_is_shorter(call, {.buckets = buckets_for(asked, 0)}, most);
}

void plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  Form form;
  Arguments with;
  if (&request.algorithm != &compaction) {
    form.remembers = true;
    with.seed = seed_of(*call.options.state);
    &request.algorithm == &peel ? choose_peel(call, form, with) : choose_count_sketch(call, form, with);
  }
  PartPlan part{.data = {0, call.count}, .outcome = Reduced, .lossy = true, .arguments = with};
  if (form.stage == Stage::Both) part.outcome = Sketched;
  if (form.stage == Stage::Peel) part.outcome = Peeled;
  part.structure.parameters = form;
  plan.parts.push_back(part);
  plan.reports = true;
  plan.writes_state = form.remembers;
}

/// Decides by two values. After Stage::Both and Sketch, the second one says whether the sketch was decoded. Else they
/// are the elements and the blocks of the union, or of what could not be peeled.
std::optional<PartPlan> follow(const Followed& part) {
  if (part.values.size() != 2) return {};
  const Form form = form_of(part.part);
  Arguments with = arguments_of(part.part);
  if (form.stage == Stage::Peel) {
    if (part.values[0] == 0) return {};
    return next_part(part.part, form, Stage::Left, Reduced);
  }
  if (form.stage == Stage::Map) {
    if (sketch_is_shorter(part.request.call, with, part.values[0])) {
      return next_part(part.part, form, Stage::Sketch, Sketched);
    }
    with.buckets = 0;  // no sketch was sent
  } else if (part.values[1] != 0) {
    return {};
  }
  PartPlan next = next_part(part.part, form, Stage::Rest, Reduced);
  next.arguments = with;
  return next;
}

}  // namespace lacuna::sketching
