#include "algorithms/phases/scan_phases.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// It takes ceil(log2 P) rounds. Rank r sends the data once for each power of two below P - r.
extern const Algorithm scan_recursive_doubling;
const Algorithm scan_recursive_doubling = {
    .collective = Collective::Scan,
    .name = "recursive_doubling",
    .summary = "log2 P rounds, at most log2 P times the data per rank",
    .symmetric = false,
    .build = [](GraphBuilder& g) { inclusive_scan(g, g.input(), 0); },
};

}  // namespace lacuna
