#include "runtime/method/method.hpp"

#include "algorithms/phases/left_out.hpp"
#include "algorithms/wordless/wordless.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, help) \
  option::of<&Wordless::name>(#name, {least, most}, nullptr, help),
#include "algorithms/wordless/options.def"
#undef LACUNA_OPTION
};
constexpr std::string_view outcomes[] = {"dense", "shortened"};
constexpr MethodAlgorithm algorithms[] = {{&allreduce_ring, "wordless_ring", "without its first round"}};
constexpr std::string_view examples[] = {"leaves=1"};

Status check(const Call& call, const Algorithm&, const Hosts& hosts) {
  if (hosts.size() == 1) return {Code::InvalidArgument, "wordless: one rank has no rounds"};
  if (call.reduction == Reduction::Sum) return {};
  return {Code::InvalidArgument, "wordless: only sums"};
}

void plan(const PlanRequest& request, Plan& plan) {
  PartPlan part{.data = {0, request.call.count}};
  const bool leaves = static_cast<const Wordless*>(request.call.options.method.get())->leaves;
  part.structure.parameters = LeftOut{.rounds = leaves ? 1 : 0};
  part.outcome = 1;
  plan.reports = true;
  add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

}  // namespace

extern const Method wordless_method = {
    .name = "wordless",
    .summary = "leaves one round out and has no measures",
    .options = options,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Wordless>,
    .is_on = [](const void* given) { return static_cast<const Wordless*>(given)->leaves; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "ring"; },
    .check = check,
    .plan = plan,
};

}  // namespace lacuna
