// This is a method of the user's own, as a plugin. It leaves out the last rounds of a ring's reduce-scatter, so that
// each piece lacks the terms of some ranks, and scales what is there as if they were alike.
//   LACUNA_PLUGINS=build/short_ring.so lacuna launch -n 4 -- lacuna perf allreduce --method short_ring:rounds=1
#include <lacuna/algorithms/phases/left_out.hpp>
#include <lacuna/algorithms/registry/plugins.hpp>
#include <lacuna/lacuna.hpp>

namespace lacuna {
extern const Algorithm allreduce_ring;
}

namespace {

using lacuna::Call;
using lacuna::Status;

/// The options of the method, with their defaults.
struct ShortRing {
  int rounds = 0;
};

constexpr lacuna::Option options[] = {lacuna::option::of<&ShortRing::rounds>(
    "rounds", {0, 64}, nullptr, "rounds of the reduce-scatter that are left out")};
constexpr std::string_view outcomes[] = {"dense", "short"};
constexpr std::string_view examples[] = {"rounds=1", "rounds=2"};
constexpr lacuna::MethodAlgorithm algorithms[] = {
    {&lacuna::allreduce_ring, "short_ring", "without the last rounds of its reduce-scatter"}};

const ShortRing& options_of(const void* options) { return *static_cast<const ShortRing*>(options); }

/// Refuses calls that the method can't serve.
Status check(const Call& call, const lacuna::Algorithm&, const lacuna::Hosts& hosts) {
  const int rounds = options_of(call.options.method.get()).rounds, all = hosts.size() - 1;
  if (rounds > all) {
    return {lacuna::Code::InvalidArgument, "short_ring: rounds is " + std::to_string(rounds) + ", the ring of " +
                                               std::to_string(hosts.size()) + " ranks has " + std::to_string(all)};
  }
  if (call.reduction == lacuna::Reduction::Sum && !lacuna::is_integer(call.dtype)) return {};
  return {lacuna::Code::InvalidArgument, "short_ring: only sums of floating-point numbers"};
}

/// Says how the next run is made: parts whose program leaves these rounds out.
void plan(const lacuna::PlanRequest& request, lacuna::Plan& plan) {
  lacuna::PartPlan part{.data = {0, request.call.count}};
  part.structure.parameters = lacuna::LeftOut{.rounds = options_of(request.call.options.method.get()).rounds};
  part.lossy = true;
  part.outcome = 1;
  plan.reports = true;
  lacuna::add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

/// Scales a sum that lacks the terms of some ranks.
lacuna::Scale scale(const lacuna::FinalSum& sum) {
  return {.multiplier = static_cast<double>(sum.all), .divisor = static_cast<double>(sum.terms)};
}

const lacuna::Method short_ring = {
    .name = "short_ring",
    .summary = "leaves out the last rounds of a ring, and scales the sums",
    .options = options,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = lacuna::option::make<ShortRing>,
    .is_on = [](const void* given) { return options_of(given).rounds > 0; },
    .preferred = [](const Call&, const lacuna::Hosts&) -> std::string_view { return "short_ring"; },
    .check = check,
    .scale = scale,
    .plan = plan,
};

Status add() { return lacuna::register_method(short_ring); }

}  // namespace

LACUNA_PLUGIN(add)
