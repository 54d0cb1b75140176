#include "algorithms/forgetful/forgetful.hpp"

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
constexpr std::string_view numbers[] = {"rounds"}, outcomes[] = {"dense", "forgotten"};
constexpr MethodAlgorithm algorithms[] = {{&allreduce_ring, "forgetful_ring", "without some rounds"}};

std::shared_ptr<void> make(const void* like) {
  return like ? std::make_shared<Forgetful>(as_forgetful(like)) : std::make_shared<Forgetful>();
}

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (as_forgetful(given).remembers) state.array(residual_array, dtype, elements, true);
}

}  // namespace

extern const Method forgetful_method = {
    .name = "forgetful",
    .summary = "leaves rounds out",
    .options = options,
    .numbers = numbers,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .make = make,
    .is_on = [](const void* given) { return as_forgetful(given).rounds > 0; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "ring"; },
    .check = check_forgetful,
    .state = add_arrays,
    .plan = plan_forgetful,
};

}  // namespace lacuna
