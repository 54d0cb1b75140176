#include <array>

#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/phases/feedback.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

const OkTopk& as_ok_topk(const void* options) { return *static_cast<const OkTopk*>(options); }
bool by_density(const void* options) { return as_ok_topk(options).k == 0; }
bool has_momentum(const void* options) { return as_ok_topk(options).momentum > 0; }

constexpr auto most_places = OkTopk::most_places, most_runs = OkTopk::most_runs;

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&OkTopk::name>(#name, {least, most}, counts, help),
#include "algorithms/ok_topk/options.def"
#undef LACUNA_OPTION
};

constexpr auto measures =
    joined(sparse::measures, std::array{&ok::measure::global_threshold, &ok::measure::largest_block,
                                        &ok::measure::balanced, &ok::measure::bound_words});

constexpr std::string_view outcomes[] = {"dense", "sparse"};
constexpr std::string_view examples[] = {"density=0.1",
                                         "k=30,tau=3,tau_prime=2,bucket=1",
                                         "density=0.05,tau=2,tau_prime=5,trigger=1",
                                         "density=0.1,feedback=0,trigger=2,tau_prime=3,format=bitmap",
                                         "density=0.2,momentum=0.5,tau_prime=2,bucket=2",
                                         "density=1,tau_prime=4,format=coordinates"};
constexpr Predictions predictions = {.bytes = ok::expected_bytes,
                                     .most_entries = sparse::room_of,
                                     .result_entries = ok::result_entries,
                                     .rounds = ok::expected_rounds};
constexpr MethodAlgorithm algorithms[] = {
    {.algorithm = &ok::allreduce,
     .name = "ok_topk",
     .summary = "3 or 4 rounds, 4 to 6 words for each of k elements per rank, times (P-1)/P",
     .dense = &allreduce_ring,
     .rounds = ok::rounds,
     .predictions = &predictions},
};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  const OkTopk& asked = as_ok_topk(given);
  if (asked.feedback) state.array(residual_array, dtype, elements, true);
  if (asked.momentum > 0) state.array(sparse::velocity_array, dtype, elements, true);
  state.array(ok::local_threshold, Dtype::F64, ok::threshold_words, true);
  state.array(ok::partition, Dtype::I64, ok::words_of_partition(elements), false);
}

}  // namespace

MethodOptions ok_topk(const OkTopk& given) { return {ok_topk_method, std::make_shared<const OkTopk>(given)}; }

const Method ok_topk_method = {
    .name = "ok_topk",
    .summary = "the largest sums of the largest elements, for a volume that does not grow with the ranks",
    .options = options,
    .measures = measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<OkTopk>,
    .entry_length = [](const void*) -> std::size_t { return 1; },
    .is_on = [](const void*) { return true; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "ok_topk"; },
    .check = ok::check,
    .lossless = ok::lossless,
    .ready = check_residual,
    .state = add_arrays,
    .plan = ok::plan,
    .follow = ok::follow,
};

}  // namespace lacuna
