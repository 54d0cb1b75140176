#include "algorithms/phases/scan_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// Each rank passes its input to the next one. All ranks but rank 0 then scan what they received.
// It takes 1 + ceil(log2(P-1)) rounds. Rank r < P-1 sends the data once more than in a scan of the P-1 last ranks.
extern const Algorithm exclusive_scan_recursive_doubling;
const Algorithm exclusive_scan_recursive_doubling = {
    .collective = Collective::ExclusiveScan,
    .name = "recursive_doubling",
    .summary = "1 + log2 (P-1) rounds, at most 1 + log2 (P-1) times the data per rank",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const Rank p = g.size(), me = g.position();
          if (me + 1 < p) g.send(g.input(), me + 1);
          if (me == 0) return;
          const Region got = g.scratch(2, g.output());
          g.receive(got, me - 1);
          inclusive_scan(g, got, 1);
        },
};

}  // namespace lacuna
