#include "algorithms/phases/scan_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// ceil(log2 P) steps; rank r sends the data once for each power of two below P - r.
extern const Algorithm scan_recursive_doubling;
const Algorithm scan_recursive_doubling = {
    .collective = Collective::Scan,
    .name = "recursive_doubling",
    .summary = "log2 P steps, at most log2 P times the data per rank",
    .symmetric = false,
    .build = [](GraphBuilder& g) { inclusive_scan(g, g.input(), 0); },
};

}  // namespace lacuna
