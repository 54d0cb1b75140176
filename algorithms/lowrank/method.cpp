#include "algorithms/lowrank/steps.hpp"
#include "algorithms/phases/feedback.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

const LowRank& as_lowrank(const void* options) { return *static_cast<const LowRank*>(options); }

constexpr auto most_rank = LowRank::most_rank, most_columns = LowRank::most_columns;

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&LowRank::name>(#name, {least, most}, counts, help),
#include "algorithms/lowrank/options.def"
#undef LACUNA_OPTION
};

constexpr std::string_view outcomes[] = {"dense", "factored"};
constexpr std::string_view examples[] = {"rank=1", "rank=2,columns=5", "rank=4", "rank=3,feedback=0"};
constexpr MethodAlgorithm algorithms[] = {
    {.algorithm = &factoring::allreduce,
     .name = "lowrank",
     .summary = "PowerSGD: 4(P-1) rounds, 2(P-1)/P of two factors of k vectors, as long as the sides of the matrix",
     .dense = &allreduce_ring,
     .rounds = factoring::rounds,
     .predictions = &factoring::predictions},
};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  const kernels::MatrixShape shape = factoring::shape_of(as_lowrank(given), elements);
  if (!factoring::is_shorter(shape)) return;
  if (as_lowrank(given).feedback) state.array(residual_array, dtype, elements, true);
  state.array(factoring::right_factor_array, dtype, shape.rank * shape.columns, false);
}

}  // namespace

MethodOptions lowrank(const LowRank& given) { return {lowrank_method, std::make_shared<const LowRank>(given)}; }

const Method lowrank_method = {
    .name = "lowrank",
    .summary = "PowerSGD: two factors of few vectors travel in place of a matrix; what they lack is added next time",
    .options = options,
    .measures = factoring::measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<LowRank>,
    .is_on = [](const void*) { return true; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "lowrank"; },
    .check = factoring::check,
    .ready = factoring::ready,
    .state = add_arrays,
    .plan = factoring::plan,
};

}  // namespace lacuna
