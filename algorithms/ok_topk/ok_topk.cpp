#include "algorithms/ok_topk/steps.hpp"

namespace lacuna::ok {
namespace {

Reduced select_split_and_reduce(GraphBuilder& g) {
  const CutValues local = find_threshold(g);
  if (!has(g, reevaluates) && !has(g, repartitions)) return split_and_reduce(g, last_ranges(g), local);
  const sparse::Selection mine = select_all(g, local);
  return split_and_reduce(g, has(g, repartitions) ? repartition(g, mine) : last_ranges(g), mine);
}

void finish(GraphBuilder& g, const Told& told) {
  if (stage_of(g) == Stage::Balance) {
    gather_balanced(g, told.reduced.block);
  } else {
    gather_blocks(g, told.reduced);
  }
  settle(g, told.reduced, told.sizes);
}

void build(GraphBuilder& g) {
  const Stage stage = stage_of(g);
  if (stage == Stage::Gather || stage == Stage::Balance) return finish(g, recall(g));
  Reduced reduced = select_split_and_reduce(g);
  if (has(g, reevaluates)) return settle(g, reduced, gather_largest(g, reduced));
  reduced.block = select_globally(g, reduced.block);
  if (stage == Stage::Sizes) return tell_size(g, reduced);
  settle(g, reduced, gather_blocks(g, reduced));
}

}  // namespace

// Each rank selects about k elements by a threshold, sends them to those in whose ranges they lie, sums up its own
// range, and sends what of the sums is above a second threshold to all. Both thresholds serve for tau' runs, ranges
// that hold as many entries each for tau runs. Where one block of the result is much longer than the mean, entries move
// between ranks first. 2 steps, and each rank gets 4k(P-1)/P words of 4 bytes where ranges are balanced, and selections
// and result have k entries of f32; with more ranks than the trigger 3 or 4 steps and at most 6k(P-1)/P words; every
// tau' runs, the entries of all sums. Source: Li, Hoefler: Near-optimal sparse allreduce for distributed deep learning
// (PPoPP 2022), algorithm 1.
constexpr Algorithm allreduce = {
    .collective = Collective::Allreduce,
    .name = "ok_topk",
    .symmetric = false,
    .build = build,
};

}  // namespace lacuna::ok
