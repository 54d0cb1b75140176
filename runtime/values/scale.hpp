#pragma once

namespace lacuna {

/// What a result is multiplied by, then divided by.
struct Scale {
  double multiplier = 1;
  double divisor = 1;

  bool is_one() const { return multiplier == 1 && divisor == 1; }
};

}  // namespace lacuna
