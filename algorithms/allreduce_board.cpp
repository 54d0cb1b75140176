#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

void build_allreduce_board(GraphBuilder& g) {
  g.board_reduce(g.output(), g.input());
  g.finish(g.output());
}

}  // namespace

// Each rank writes its data where all ranks of the host read them, and adds up what it finds there. Inside a host no
// message is as quick as memory that both sides look at.
// It takes 1 round. Each rank writes the data once, and reads those of all others.
extern const Algorithm allreduce_board;
const Algorithm allreduce_board = {
    .collective = Collective::Allreduce,
    .name = "board",
    .summary = "1 round over memory that all ranks of a host share; for small data",
    .symmetric = true,
    .on_board = true,
    .build = build_allreduce_board,
};

}  // namespace lacuna
