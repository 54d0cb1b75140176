#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// The root sends every rank its block.
// It takes 1 round. The root sends P-1 blocks, the others nothing.
extern const Algorithm scatter_linear;
constexpr Algorithm scatter_linear = {
    .collective = Collective::Scatter,
    .name = "linear",
    .summary = "1 round; the root sends P-1 blocks",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const Rank me = g.position();
          if (me != 0) {
            g.receive(g.output(me), 0);
            return;
          }
          for (Rank to = 1; to < g.size(); ++to) g.send(g.input(to), to);
          g.copy(g.output(0), g.input(0));
        },
    .order = from_root,
};

// The same program serves blocks of different lengths.
extern const Algorithm scatterv_linear;
constexpr Algorithm scatterv_linear =
    serving(Collective::Scatterv, "1 round; the root sends P-1 blocks", scatter_linear);

}  // namespace lacuna
