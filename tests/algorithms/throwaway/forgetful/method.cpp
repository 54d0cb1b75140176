#include "algorithms/forgetful/forgetful.hpp"
#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/replacement.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

const Forgetful& as_forgetful(const void* options) { return *static_cast<const Forgetful*>(options); }

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, help) \
  option::of<&Forgetful::name>(#name, {least, most}, nullptr, help),
#include "algorithms/forgetful/options.def"
#undef LACUNA_OPTION
};
constexpr const Measure* measures[] = {&forgetful_measure::rounds, &forgetful_measure::entries,
                                       &forgetful_measure::most, &forgetful_measure::magnitude,
                                       &forgetful_measure::share};
constexpr std::string_view outcomes[] = {"dense", "forgotten"};
constexpr MethodAlgorithm algorithms[] = {
    {&allreduce_ring, "forgetful_ring", "without some rounds"},
    {&forgetful_sparse, "forgetful_sparse", "what is large, with its place", &allreduce_ring},
};
constexpr std::string_view examples[] = {"rounds=1", "rounds=1,weight=2", "rounds=1,remembers=1", "threshold=3",
                                         "threshold=100"};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (as_forgetful(given).remembers || as_forgetful(given).threshold > 0)
    state.array(residual_array, dtype, elements, true);
}

}  // namespace

extern const Method forgetful_method = {
    .name = "forgetful",
    .summary = "leaves rounds out",
    .options = options,
    .measures = measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Forgetful>,
    .is_on = [](const void* given) { return as_forgetful(given).rounds > 0 || as_forgetful(given).threshold > 0; },
    .preferred = [](const Call& call, const Hosts&) -> std::string_view {
      return forgetful_of(call).threshold > 0 ? "forgetful_sparse" : "ring";
    },
    .check = check_forgetful,
    .ready = check_residual,
    .scale = scale_replaced,
    .state = add_arrays,
    .plan = plan_forgetful,
    .follow = follow_forgetful,
};

}  // namespace lacuna
