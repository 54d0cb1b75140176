#include "algorithms/phases/feedback.hpp"
#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

const Topk& as_topk(const void* options) { return *static_cast<const Topk*>(options); }
bool by_density(const void* options) { return as_topk(options).k == 0; }
bool by_threshold(const void* options) { return as_topk(options).selection == TopkSelection::Threshold; }
bool by_sample(const void* options) { return as_topk(options).selection == TopkSelection::Sampled; }
bool by_gaussian(const void* options) { return as_topk(options).selection == TopkSelection::Gaussian; }
bool has_momentum(const void* options) { return as_topk(options).momentum > 0; }
bool is_chunked(const void* options) { return !as_topk(options).capped; }
bool warms_up(const void* options) { return as_topk(options).warm_up > 0; }

constexpr auto most_places = Topk::most_places, most_runs = Topk::most_runs, most_factor = Topk::most_factor;

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&Topk::name>(#name, {least, most}, counts, help),
#include "algorithms/topk/options.def"
#undef LACUNA_OPTION
};

constexpr std::string_view outcomes[] = {"dense", "sparse"};
constexpr std::string_view examples[] = {"density=0.1",
                                         "k=30,feedback=0,format=bitmap",
                                         "density=0.05,selection=sampled,samples=64,ranges=even",
                                         "density=0.06,selection=gaussian,steps=20,step=0.02",
                                         "k=20,selection=threshold,threshold=7,format=coordinates",
                                         "density=0.04,warm_up=2,warm_up_density=0.5,format=local16,chunks=3",
                                         "density=0.2,momentum=0.5,clip=1e6",
                                         "density=0.12,capped=1",
                                         "density=1,format=dense"};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (as_topk(given).feedback) state.array(residual_array, dtype, elements, true);
  if (has_momentum(given)) state.array(sparse::velocity_array, dtype, elements, true);
}

}  // namespace

MethodOptions topk(const Topk& given) { return {topk_method, std::make_shared<const Topk>(given)}; }

const Method topk_method = {
    .name = "topk",
    .summary = "only the largest elements travel, with their places; what stays behind is added next time",
    .options = options,
    .measures = sparse::measures,
    .outcomes = outcomes,
    .algorithms = topk_algorithms,
    .examples = examples,
    .make = option::make<Topk>,
    .entry_length = [](const void*) -> std::size_t { return 1; },
    .is_on = [](const void*) { return true; },
    .preferred = preferred_topk,
    .reason = reason_topk,
    .check = check_topk,
    .lossless = lossless_topk,
    .ready = check_residual,
    .state = add_arrays,
    .plan = plan_topk,
};

}  // namespace lacuna
