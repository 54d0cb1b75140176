#pragma once

namespace lacuna {

/// A result is multiplied by the one number, then divided by the other.
struct Scale {
  double multiplier = 1;
  double divisor = 1;

  bool is_one() const { return multiplier == 1 && divisor == 1; }
};

}  // namespace lacuna
