#include <array>

#include "algorithms/blocks/block_size.hpp"
#include "algorithms/phases/feedback.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring, reduce_scatter_ring, allgather_ring, broadcast_tree;

namespace {

const SparseBlocks& as_blocks(const void* options) { return *static_cast<const SparseBlocks*>(options); }

constexpr auto most_elements = SparseBlocks::most_elements, most_ranks = SparseBlocks::most_ranks,
               most_magnitude = SparseBlocks::most_magnitude;

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, counts, help) \
  option::of<&SparseBlocks::name>(#name, {least, most}, counts, help),
#include "algorithms/blocks/options.def"
#undef LACUNA_OPTION
};

constexpr std::string_view outcomes[] = {"dense", "blocks"};
constexpr std::string_view examples[] = {"block=8", "block=3,aggregators=2", "block=4,threshold=7",
                                         "block=2,columns=3,slots=5,burst=1", "threshold=3"};
constexpr Predictions predictions = {
    .bytes = block::expected_bytes, .path_bytes = block::path_bytes, .result_entries = block::result_elements};
constexpr Predictions stream_predictions = {.bytes = block::expected_stream_bytes,
                                            .path_bytes = block::path_bytes,
                                            .result_entries = block::result_elements,
                                            .rounds = block::expected_stream_rounds};
constexpr std::array<MethodAlgorithm, 5> algorithms = {{
    {.algorithm = &block::allreduce,
     .name = "planned_blocks",
     .summary = "2 rounds, (P-1)/P of a rank's own blocks and of those of the result",
     .dense = &allreduce_ring,
     .rounds = block::rounds,
     .predictions = &predictions},
    {.algorithm = &block::streamed_allreduce,
     .name = "streamed_blocks",
     .summary = "2 rounds for each block of a slot, the bytes of planned_blocks; without sets of blocks",
     .dense = &allreduce_ring,
     .rounds = block::rounds,
     .predictions = &stream_predictions},
    {.algorithm = &block::reduce_scatter,
     .name = "planned_blocks",
     .summary = "1 round, (P-1)/P of a rank's own blocks",
     .dense = &reduce_scatter_ring,
     .rounds = block::half_rounds,
     .predictions = &predictions},
    {.algorithm = &block::allgather,
     .name = "planned_blocks",
     .summary = "1 round, a rank's own blocks P-1 times",
     .dense = &allgather_ring,
     .rounds = block::half_rounds,
     .predictions = &predictions},
    {.algorithm = &block::broadcast,
     .name = "planned_blocks",
     .summary = "2 rounds, the root sends (P-1)/P of its blocks, and each rank a P-th of them P-2 times",
     .dense = &broadcast_tree,
     .rounds = block::rounds,
     .predictions = &predictions},
}};

void add_arrays(const void* given, Dtype dtype, std::size_t elements, MethodState& state) {
  if (as_blocks(given).threshold > 0) state.array(residual_array, dtype, elements, true);
  if (as_blocks(given).block == 0) state.array(block::counts_array, Dtype::I64, block::counts_of_state, false);
}

}  // namespace

MethodOptions sparse_blocks(const SparseBlocks& given) {
  return {blocks_method, std::make_shared<const SparseBlocks>(given)};
}

const Method blocks_method = {
    .name = "blocks",
    .summary = "only blocks that are not zero travel, to ranks that add them up, and back",
    .options = options,
    .measures = block::measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<SparseBlocks>,
    .entry_length = [](const void* given) { return as_blocks(given).block; },
    .is_on = [](const void*) { return true; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "planned_blocks"; },
    .check = block::check,
    .aggregates = block::aggregates,
    .lossless = [](const Call& call, const Hosts&, std::size_t) { return block::options_of(call).threshold == 0; },
    .ready = check_residual,
    .state = add_arrays,
    .plan = block::plan,
    .follow = block::follow,
};

}  // namespace lacuna
