#include "algorithms/phases/predictions.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna {

namespace {

/// Returns the chance that at least one of so many draws succeeds, if each does so by the chance `each`.
double any_of(double draws, double each) { return -std::expm1(draws * std::log1p(-std::min(each, 1.0))); }

double share_of(const ExpectedPart& part, double ranks, std::size_t block) {
  if (part.places <= 0) return 0;
  const double density = std::min(part.entries / part.places, 1.0);
  return part.spread ? part.spread(density, ranks, block) : any_of(ranks * static_cast<double>(block), density);
}

}  // namespace

Spread spread_by_growth(double growth) {
  return [growth](double density, double ranks, std::size_t block) {
    return any_of(static_cast<double>(block), density * std::pow(ranks, growth));
  };
}

double ExpectedPart::entries_of(double ranks) const { return places * share_of(*this, ranks, 1); }

double ExpectedPart::blocks_of(double ranks, std::size_t block) const {
  return std::ceil(places / static_cast<double>(block)) * share_of(*this, ranks, block);
}

}  // namespace lacuna
