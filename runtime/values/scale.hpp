#pragma once

namespace lacuna {

/// A result is multiplied by the one number, then divided by the other.
struct Scale {
  double multiplier = 1;
  double divisor = 1;

  bool is_one() const { return multiplier == 1 && divisor == 1; }
};

/// How a sum of two operands is scaled: each of them is multiplied by a number, and the sum has a scale.
struct SumScale {
  double first = 1, second = 1;
  Scale sum{};

  bool scales_operands() const { return first != 1 || second != 1; }
};

}  // namespace lacuna
