#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Each rank writes an empty row of the board, and waits for those of all others.
// It takes 1 round, and sends no payload.
extern const Algorithm barrier_board;
const Algorithm barrier_board = {
    .collective = Collective::Barrier,
    .name = "board",
    .summary = "1 round over memory that all ranks of a host share",
    .symmetric = true,
    .on_board = true,
    .build = [](GraphBuilder& g) { g.board_reduce(GraphBuilder::signal(), GraphBuilder::signal()); },
};

}  // namespace lacuna
