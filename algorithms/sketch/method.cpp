#include <array>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/sketch/steps.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

const Sketch& as_sketch(const void* options) { return *static_cast<const Sketch*>(options); }
bool by_ratio(const void* options) { return as_sketch(options).columns == 0; }
bool has_rows(const void* options) { return as_sketch(options).rows > 1; }

constexpr auto most_rows = Sketch::most_rows, most_cells = Sketch::most_cells;

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&Sketch::name>(#name, {least, most}, counts, help),
#include "algorithms/sketch/options.def"
#undef LACUNA_OPTION
};

constexpr std::string_view outcomes[] = {"dense", "reduced", "sketched", "peeled"};
constexpr std::string_view examples[] = {
    "ratio=0.25",   "columns=20,feedback=0",   "rows=3,columns=7,block=2", "rows=4,ratio=0.5,estimate=mean,block=3",
    "columns=1000", "block=7,cells_per_key=2", "cells_per_key=0.9"};

constexpr MethodAlgorithm algorithms[] = {
    {.algorithm = &sketching::count_sketch,
     .name = "count_sketch",
     .summary = "2(P-1) rounds, 2(P-1)/P of a map and of a table with fewer cells than the union; lossy",
     .dense = &allreduce_ring,
     .rounds = sketching::rounds,
     .predictions = &sketching::of_count_sketch},
    {.algorithm = &sketching::compaction,
     .name = "compaction",
     .summary = "2P rounds, 2(P-1)/P of a map and of the elements of the union; lossless",
     .dense = &allreduce_ring,
     .rounds = sketching::rounds,
     .predictions = &sketching::of_compaction},
    {.algorithm = &sketching::peel,
     .name = "peel",
     .summary = "2(P-1) rounds, 2(P-1)/P of a map and of a table of 1.25 cells of 8 bytes for each element",
     .dense = &allreduce_ring,
     .rounds = sketching::rounds,
     .predictions = &sketching::of_peel},
};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (as_sketch(given).feedback) state.array(residual_array, dtype, elements, true);
  state.array(sketching::last_union_array, Dtype::I64, sketching::last_union_words, false);
}

}  // namespace

MethodOptions sketch(const Sketch& given) { return {sketch_method, std::make_shared<const Sketch>(given)}; }

const Method sketch_method = {
    .name = "sketch",
    .summary = "what is zero on all ranks does not travel, nor do places; the rest does, or shares cells of a table",
    .options = options,
    .measures = sketching::measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Sketch>,
    .is_on = [](const void*) { return true; },
    .preferred = sketching::preferred,
    .reason = sketching::reason,
    .check = sketching::check,
    .lossless = sketching::lossless,
    .ready = sketching::ready,
    .state = add_arrays,
    .plan = sketching::plan,
    .follow = sketching::follow,
};

}  // namespace lacuna
