#include "algorithms/phases/replacement.hpp"

#include "runtime/method/method.hpp"

namespace lacuna {
namespace {

/// For avg, the mean of the terms that are there; for sum, this mean times the number of all ranks.
Scale renormalised(const FinalSum& sum, const Replacement& replacement) {
  const bool averages = sum.reduction == Reduction::Avg;
  const double all = sum.all, there = sum.terms;
  const Chance chance{static_cast<Rank>(sum.note >> 32), static_cast<Rank>(sum.note & 0xffffffffu)};
  if (replacement.drawn && chance.of > 0) {
    const double hosts_there = chance.there;
    return {.multiplier = static_cast<double>(chance.of), .divisor = averages ? hosts_there * all : hosts_there};
  }
  return averages ? Scale{.divisor = there} : Scale{.multiplier = all, .divisor = there};
}

}  // namespace

std::uint64_t note_of(const Chance& chance) {
  return static_cast<std::uint64_t>(chance.there) << 32 | static_cast<std::uint64_t>(chance.of);
}

Scale scale_replaced(const FinalSum& sum) {
  const auto replacement = sum.part.arguments.as<Replacement>();
  switch (replacement.rule) {
    case ReplacementRule::ZeroFill:
      break;
    case ReplacementRule::Renormalised:
      return renormalised(sum, replacement);
    case ReplacementRule::Factor:
      return {.multiplier = replacement.factor};
  }
  return scale_of_all(sum.reduction, sum.all);
}

}  // namespace lacuna
