#include "algorithms/cast/steps.hpp"
#include "algorithms/phases/feedback.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring, reduce_scatter_ring, allgather_ring, broadcast_tree;

namespace {

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&Cast::name>(#name, {least, most}, counts, help),
#include "algorithms/cast/options.def"
#undef LACUNA_OPTION
};

constexpr std::string_view outcomes[] = {"dense", "converted"};
constexpr std::string_view examples[] = {"to=bf16", "to=f16", "to=f32", "to=bf16,feedback=1", "to=f16,feedback=1"};
constexpr MethodAlgorithm algorithms[] = {
    {.algorithm = &casting::allreduce,
     .name = "cast_direct",
     .summary = "2 rounds, 2(P-1)/P of the data in the shorter type; sums are made by owners in the type of the data",
     .dense = &allreduce_ring,
     .rounds = casting::rounds,
     .predictions = &casting::of_allreduce},
    {.algorithm = &casting::reduce_scatter,
     .name = "cast_direct",
     .summary = "1 round, (P-1)/P of the input in the shorter type",
     .dense = &reduce_scatter_ring,
     .rounds = casting::half_rounds,
     .predictions = &casting::of_reduce_scatter},
    {.algorithm = &casting::allgather,
     .name = "cast_direct",
     .summary = "1 round, a rank's own block P-1 times in the shorter type",
     .dense = &allgather_ring,
     .rounds = casting::half_rounds,
     .predictions = &casting::of_allgather},
    {.algorithm = &casting::broadcast,
     .name = "cast_tree",
     .summary = "binomial tree, log2 P rounds; the root sends log2 P times the data in the shorter type",
     .dense = &broadcast_tree,
     .rounds = casting::tree_rounds,
     .predictions = &casting::of_broadcast},
};

std::string_view preferred(const Call& call, const Hosts&) {
  return call.collective == Collective::Broadcast ? "cast_tree" : "cast_direct";
}

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (static_cast<const Cast*>(given)->feedback) state.array(residual_array, dtype, elements, true);
}

}  // namespace

MethodOptions cast(const Cast& given) { return {cast_method, std::make_shared<const Cast>(given)}; }

const Method cast_method = {
    .name = "cast",
    .summary = "elements travel as bf16, f16 or f32, and are summed in the type of the data",
    .options = options,
    .measures = casting::measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Cast>,
    .is_on = [](const void*) { return true; },
    .preferred = preferred,
    .check = casting::check,
    .ready = check_residual,
    .state = add_arrays,
    .plan = casting::plan,
};

}  // namespace lacuna
