#include "algorithms/phases/grid_phases.hpp"
#include "algorithms/phases/left_out.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// This sends the ring's bytes in fewer rounds. P = r c ranks stand in r rows and c columns, as square as P allows, and
// reduce along rows, then columns (grid_allreduce). On a prime number of ranks it is the ring.
// It takes 2(r+c-2) rounds, about 4 sqrt P. Each rank sends 2(P-1)/P of the data.
extern const Algorithm allreduce_torus;
const Algorithm allreduce_torus = {
    .collective = Collective::Allreduce,
    .name = "torus",
    .summary = "2(r+c-2) rounds for P = r c, 2(P-1)/P of the data per rank; for medium data on many ranks",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const Topology grid = Topology::torus(g.size());
          const Rank columns = grid.line(g.position(), 1).size();
          grid_allreduce(g, grid, rows_first(g.parameters<LeftOut>().rounds, columns), RowExchange::Ring);
        },
    .parameters = &parameter_set<LeftOut>,
};

}  // namespace lacuna
