#include "algorithms/phases/feedback.hpp"
#include "algorithms/quantize/steps.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring, reduce_scatter_ring, allgather_ring;

namespace {

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&Quantize::name>(#name, {least, most}, counts, help),
#include "algorithms/quantize/options.def"
#undef LACUNA_OPTION
};

constexpr std::string_view outcomes[] = {"dense", "rounded"};
constexpr std::string_view examples[] = {"bits=8", "bits=4,block=8", "bits=8,block=16,feedback=0",
                                         "bits=4,block=32,feedback=0"};
constexpr MethodAlgorithm algorithms[] = {
    {.algorithm = &quantizing::allreduce,
     .name = "quantize_direct",
     .summary = "2 rounds, 2(P-1)/P of the data in 8 or 4 bits; sums are made by owners in the type of the data",
     .dense = &allreduce_ring,
     .rounds = quantizing::rounds,
     .predictions = &quantizing::of_allreduce},
    {.algorithm = &quantizing::reduce_scatter,
     .name = "quantize_direct",
     .summary = "1 round, (P-1)/P of the input in 8 or 4 bits",
     .dense = &reduce_scatter_ring,
     .rounds = quantizing::half_rounds,
     .predictions = &quantizing::of_reduce_scatter},
    {.algorithm = &quantizing::allgather,
     .name = "quantize_direct",
     .summary = "1 round, a rank's own block P-1 times in 8 or 4 bits",
     .dense = &allgather_ring,
     .rounds = quantizing::half_rounds,
     .predictions = &quantizing::of_allgather},
};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (static_cast<const Quantize*>(given)->feedback) state.array(residual_array, dtype, elements, true);
}

}  // namespace

MethodOptions quantize(const Quantize& given) { return {quantize_method, std::make_shared<const Quantize>(given)}; }

const Method quantize_method = {
    .name = "quantize",
    .summary =
        "elements travel in 8 or 4 bits, rounded by chance, with a spacing for each block; what is lost comes later",
    .options = options,
    .measures = quantizing::measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Quantize>,
    .is_on = [](const void*) { return true; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "quantize_direct"; },
    .check = quantizing::check,
    .ready = check_residual,
    .state = add_arrays,
    .plan = quantizing::plan,
};

}  // namespace lacuna
