#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Every rank sends its block straight to the root, which takes the blocks in the order in which they come.
// It takes 1 round. Each rank but the root sends its block once.
extern const Algorithm gather_linear;
constexpr Algorithm gather_linear = {
    .collective = Collective::Gather,
    .name = "linear",
    .summary = "1 round; each rank but the root sends its block once",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const Rank me = g.position();
          if (me != 0) {
            g.send(g.input(me), 0);
            return;
          }
          g.copy(g.output(0), g.input(0));
          for (Rank from = 1; from < g.size(); ++from) g.receive(g.output(from), from);
        },
    .order = from_root,
};

// The same program serves blocks of different lengths.
extern const Algorithm gatherv_linear;
constexpr Algorithm gatherv_linear =
    serving(Collective::Gatherv, "1 round; each rank but the root sends its block once", gather_linear);

}  // namespace lacuna
