#include "algorithms/ok_topk/steps.hpp"

namespace lacuna::ok {
namespace {

Reduced select_split_and_reduce(GraphBuilder& g) {
  const Form form = form_of(g);
  const CutValues local = find_threshold(g);
  if (!form.reevaluates && !form.repartitions) return split_and_reduce(g, last_ranges(g), local);
  const sparse::Selection mine = select_all(g, local);
  return split_and_reduce(g, form.repartitions ? repartition(g, mine) : last_ranges(g), mine);
}

void finish(GraphBuilder& g, const Told& told) {
  const sparse::Selection block = select_globally(g, told);
  if (form_of(g).stage == Stage::Balance) {
    gather_balanced(g, block);
  } else {
    gather_blocks(g, block, told.reduced.ranges);
  }
  settle(g, told.reduced, told.sizes);
}

void build(GraphBuilder& g) {
  const Stage stage = form_of(g).stage;
  if (stage == Stage::Gather || stage == Stage::Balance) return finish(g, recall(g));
  const Reduced reduced = select_split_and_reduce(g);
  if (stage == Stage::Sums) return agree_on_quotas(g, reduced);
  settle(g, reduced, gather_largest(g, reduced));
}

}  // namespace

// Each rank selects about k elements by a threshold of its own and sends them to those in whose ranges they lie. Each
// rank sums up its own range. The ranks tell each other how large their sums are. From that they agree on how many sums
// each rank brings to the result, k in total, and send these to all ranks. In every tau'-th run the selections are
// exact, both of the elements and of all sums, and all sums go to all ranks. The ranges hold about as many entries
// each, and serve for tau runs. If one block of the result is much longer than the mean, entries move between ranks
// first. There are 3 rounds, or 4 with balancing. If ranges are balanced and entries are of f32, each rank gets
// 4k(P-1)/P words of 4 bytes, and at most 6k(P-1)/P; in every tau'-th run it gets the entries of all sums. Source: Li,
// Hoefler: Near-optimal sparse allreduce for distributed deep learning (PPoPP 2022), algorithm 1, where a second
// threshold tells which sums are in the result.
constexpr Algorithm allreduce = {
    .collective = Collective::Allreduce,
    .name = "ok_topk",
    .symmetric = false,
    .build = build,
    .parameters = &parameter_set<Form>,
};

}  // namespace lacuna::ok
