#include "algorithms/phases/left_out.hpp"

#include <fmt/format.h>

#include "runtime/values/count_of.hpp"

namespace lacuna {

int rounds_left_out(GraphBuilder& g, int rounds, int all) {
  if (rounds <= all) return rounds;
  g.refuse(fmt::format("{} to leave out, must be 0 .. {} on {}", count_of(rounds, "round"), all,
                       count_of(g.size(), "rank")));
  return 0;
}

}  // namespace lacuna
