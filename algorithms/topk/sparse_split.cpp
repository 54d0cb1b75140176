#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

void build_sparse_split(GraphBuilder& g) {
  const sparse::Selection mine = select(g);
  const Region ranges = sparse::form_of(g).bins > 0 ? sparse::balanced_ranges(g, mine) : sparse::even_ranges(g);
  const Region sum = sparse::reduce_range(g, sparse::split(g, mine, ranges), ranges);
  sparse::place_in_output(g, sparse::exchange(g, sum), ranges);
}

void build_half(GraphBuilder& g) {
  const sparse::Selection mine = select(g);
  const Region ranges = sparse::even_ranges(g);
  sparse::sum_to_output(g, sparse::split(g, mine, ranges), ranges);
}

}  // namespace

// Each rank sums up one range of the data. All ranks send it their entries of that range. Then the sums go to all
// ranks. A sum with many entries travels in the dense format. It takes 2 rounds. If ranges are balanced, there are
// 2(P-1) more rounds with messages of at most 32 KiB / P. Each rank gets (P-1)/P of k entries and of those of the
// result. Source: Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler: SparCML (SC 2019), split allgather; Li, Hoefler:
// Near-optimal sparse allreduce (PPoPP 2022), whose ranges are balanced.
constexpr Algorithm sparse_split = {
    .collective = Collective::Allreduce,
    .name = "sparse_split",
    .symmetric = false,
    .build = build_sparse_split,
    .parameters = &parameter_set<TopkForm>,
};

// This is the first half of sparse_split. The ranges are the blocks of the result.
constexpr Algorithm sparse_reduce_scatter = {
    .collective = Collective::ReduceScatter,
    .name = "sparse_split",
    .symmetric = false,
    .build = build_half,
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
