#include "algorithms/phases/predictions.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna {

double ExpectedPart::entries_of(double ranks) const {
  if (places <= 0) return 0;
  const double together = growth ? entries * std::pow(ranks, *growth)
                                 : places * -std::expm1(ranks * std::log1p(-std::min(entries / places, 1.0)));
  return std::min(together, places);
}

}  // namespace lacuna
