#pragma once

#include <Kokkos_Macros.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/elements.hpp"

namespace lacuna::kernels {

/// The unsigned integer that holds a floating-point element, and the bits of its infinity and its quiet flag.
template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = std::uint32_t;
  static constexpr Bits infinity = 0x7f800000u, quiet = 0x00400000u;
};
template <>
struct FloatBits<double> {
  using Bits = std::uint64_t;
  static constexpr Bits infinity = 0x7ff0000000000000u, quiet = 0x0008000000000000u;
};
template <>
struct FloatBits<bf16> {
  using Bits = std::uint16_t;
  static constexpr Bits infinity = 0x7f80u, quiet = 0x0040u;
};
template <>
struct FloatBits<f16> {
  using Bits = std::uint16_t;
  static constexpr Bits infinity = 0x7c00u, quiet = 0x0200u;
};

/// The number, or 0 in place of an infinity or a NaN.
template <class T>
KOKKOS_INLINE_FUNCTION T or_zero(T number) {
  using Bits = typename FloatBits<T>::Bits;
  const bool is_finite = (std::bit_cast<Bits>(number) & (static_cast<Bits>(~Bits{0}) >> 1)) < FloatBits<T>::infinity;
  return is_finite ? number : T{0};
}

/// The minimum of two floating-point elements, or if `largest` the maximum. Their bits are compared as signed integers.
/// The order of the negative half is turned round, so that they order as numbers do, with -0 before +0.
template <bool largest, class T>
KOKKOS_INLINE_FUNCTION T extreme_float(T x, T y) {
  using Traits = FloatBits<T>;
  using Bits = typename Traits::Bits;
  using Key = std::make_signed_t<Bits>;
  constexpr Bits magnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  const Bits a = std::bit_cast<Bits>(x);
  const Bits b = std::bit_cast<Bits>(y);
  const Bits a_turned = static_cast<Bits>(a ^ (static_cast<Key>(a) < 0 ? magnitude : Bits{0}));
  const Bits b_turned = static_cast<Bits>(b ^ (static_cast<Key>(b) < 0 ? magnitude : Bits{0}));
  const bool a_is_less = static_cast<Key>(a_turned) < static_cast<Key>(b_turned);
  Bits result = a_is_less != largest ? a : b;
  result = static_cast<Bits>(a & magnitude) > Traits::infinity ? static_cast<Bits>(a | Traits::quiet) : result;
  result = static_cast<Bits>(b & magnitude) > Traits::infinity ? static_cast<Bits>(b | Traits::quiet) : result;
  return std::bit_cast<T>(result);
}

// These are the operations. One that `selects` picks one of two elements. The others compute in the wide type.
struct SumOf {
  static constexpr bool selects = false;
  template <class Wide>
  KOKKOS_INLINE_FUNCTION static Wide apply(Wide a, Wide b) {
    return a + b;
  }
};

struct ProductOf {
  static constexpr bool selects = false;
  template <class Wide>
  KOKKOS_INLINE_FUNCTION static Wide apply(Wide a, Wide b) {
    return a * b;
  }
};

template <bool largest>
struct ExtremeOf {
  static constexpr bool selects = true;
  template <class T>
  KOKKOS_INLINE_FUNCTION static T apply(T a, T b) {
    if constexpr (is_integer_element<T>) {
      return (a < b) != largest ? a : b;
    } else {
      return extreme_float<largest>(a, b);
    }
  }
};

using MinimumOf = ExtremeOf<false>;
using MaximumOf = ExtremeOf<true>;

/// Backend::reduce for element i: out[i] = (a[i] op b[i]) * multiplier / divisor. Without `scales` it reads neither the
/// multiplier nor the divisor.
template <class T, class Operation, bool scales>
struct ReduceKernel {
  using Wide = WideOf<T>;

  std::byte* out;
  const std::byte* a;
  const std::byte* b;
  Wide multiplier;
  Wide divisor;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const T x = load<T>(a, i);
    const T y = load<T>(b, i);
    if constexpr (Operation::selects && !scales) {
      store<T>(out, i, Operation::apply(x, y));
    } else if constexpr (Operation::selects) {
      store<T>(out, i, narrow<T>(widen(Operation::apply(x, y)) * multiplier / divisor));
    } else if constexpr (scales) {
      store<T>(out, i, narrow<T>(Operation::apply(widen(x), widen(y)) * multiplier / divisor));
    } else {
      store<T>(out, i, narrow<T>(Operation::apply(widen(x), widen(y))));
    }
  }
};

/// Backend::copy with a scale, for element i: out[i] = in[i] * multiplier / divisor.
template <class T>
struct ScaleKernel {
  using Wide = WideOf<T>;

  std::byte* out;
  const std::byte* in;
  Wide multiplier;
  Wide divisor;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    store<T>(out, i, narrow<T>(widen(load<T>(in, i)) * multiplier / divisor));
  }
};

}  // namespace lacuna::kernels
