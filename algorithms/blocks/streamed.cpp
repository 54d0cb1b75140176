#include "algorithms/blocks/rows.hpp"

namespace lacuna::block {
namespace {

/// A part of a slot: the first one, or one that follows.
void build(GraphBuilder& g) {
  const StreamForm form = stream_form_of(g);
  const Region slots = g.buffer(slots_of_run);
  if (form.begins) look_at_slot(g, slots);
  if (form.begins && !form.burst) return ask_for_first(g, slots);
  const Row row = expect_row(g, slots);
  if (owns(g)) {
    collect_row(g, slots, row);
  } else {
    answer_row(g, slots, row);
  }
  place_row(g, slots, row);
}

}  // namespace

// The blocks stand in rows, which slots share. Each slot has an owner, and its columns move from row to row on their
// own. First, all ranks tell the owner where their first block is that is not zero. The owner asks for the first row in
// which any rank has one. Each rank that has this block sends it, and says with it which of its blocks comes next, so
// that the owner knows who will answer next time. The result is the question for the next row. A slot has one message
// on its way at a time, and all slots work at the same time. If U blocks of a slot are not zero at any rank, it takes
// 2 + 2U rounds, and fewer if it has several columns. Each rank sends and receives about (P-1)/P (D + D_U) of the
// data's bytes, as in planned.cpp, and 4 bytes for each block. With `burst` all ranks send their first row at once,
// whatever it holds. Source: Fei, Ho, Sahu, Canini, Sapio: OmniReduce (SIGCOMM 2021), and its released code, which
// begins with a burst.
constexpr Algorithm streamed_allreduce = {
    .collective = Collective::Allreduce,
    .name = "streamed_blocks",
    .symmetric = false,
    .build = build,
    .parameters = &parameter_set<StreamForm>,
};

}  // namespace lacuna::block
