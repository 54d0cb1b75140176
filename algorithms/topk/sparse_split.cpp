#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

void build(GraphBuilder& g) {
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

// Each rank sums up one range of the data, for which all send it their entries; then the sums go to all. A sum with
// many entries travels as a dense one. 2 steps (2(P-1) more, of at most 32 KiB / P, where ranges are balanced); each
// rank gets (P-1)/P of its k entries and of those of the result. Source: Renggli, Ashkboos, Aghagolzadeh, Alistarh,
// Hoefler: SparCML (SC 2019), split allgather; Li, Hoefler: Near-optimal sparse allreduce (PPoPP 2022), whose ranges
// are balanced.
constexpr Algorithm sparse_split = {
    .collective = Collective::Allreduce,
    .name = "sparse_split",
    .symmetric = false,
    .build = build,
    .parameters = &parameter_set<TopkForm>,
};

// The first half of sparse_split. The ranges are the blocks of the result.
constexpr Algorithm sparse_reduce_scatter = {
    .collective = Collective::ReduceScatter,
    .name = "sparse_split",
    .symmetric = false,
    .build = build_half,
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
