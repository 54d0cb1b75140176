#pragma once

#include <Kokkos_Macros.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/elements.hpp"
#include "runtime/values/scale.hpp"

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

/// A complex number. The product is the plain formula: it does not look for infinities. It has no difference, because
/// g++ 12 makes one instruction (vfmaddsub) of a difference and a sum of products even where it must not fuse them.
template <class T>
struct ComplexElement {
  T real, imaginary;

  KOKKOS_INLINE_FUNCTION friend ComplexElement operator+(ComplexElement a, ComplexElement b) {
    return {a.real + b.real, a.imaginary + b.imaginary};
  }
  KOKKOS_INLINE_FUNCTION friend ComplexElement operator*(ComplexElement a, ComplexElement b) {
    return {a.real * b.real + -a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  }
};

// Both are computed with as they are.
template <class T>
KOKKOS_INLINE_FUNCTION ComplexElement<T> widen(ComplexElement<T> value) {
  return value;
}
template <class T>
struct LocatedElement;
template <class T>
KOKKOS_INLINE_FUNCTION LocatedElement<T> widen(LocatedElement<T> value) {
  return value;
}

/// A Located<T>. The bytes between the number and the index are part of it, so that all bytes of a result are known.
template <class T>
struct LocatedElement {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

  std::uint64_t bits;  ///< those of the number come first
  std::int64_t index;

  KOKKOS_INLINE_FUNCTION T value() const { return std::bit_cast<T>(static_cast<Word>(bits)); }
};
static_assert(std::endian::native == std::endian::little);

/// The element with the minimum of two numbers, or if `largest` with the maximum, and of two equal numbers, or two
/// NaNs, the one with the lower index.
template <bool largest, class T>
KOKKOS_INLINE_FUNCTION LocatedElement<T> extreme_located(LocatedElement<T> a, LocatedElement<T> b) {
  using Word = typename LocatedElement<T>::Word;
  using Key = std::make_signed_t<Word>;
  // A number becomes an integer that orders as it does. All NaNs become the same one, which wins.
  const auto key_of = [](T value) {
    if constexpr (is_integer_element<T>) {
      return static_cast<Key>(value);
    } else {
      constexpr Word magnitude = static_cast<Word>(~Word{0}) >> 1;
      const Word bits = std::bit_cast<Word>(value);
      const Key turned = static_cast<Key>(bits ^ (static_cast<Key>(bits) < 0 ? magnitude : Word{0}));
      constexpr Key nan = static_cast<Key>(largest ? magnitude : ~magnitude);
      return (bits & magnitude) > FloatBits<T>::infinity ? nan : turned;
    }
  };
  const Key of_a = key_of(a.value()), of_b = key_of(b.value());
  const bool takes_a = of_a == of_b ? a.index <= b.index : (of_a < of_b) != largest;
  const LocatedElement<T> taken = takes_a ? a : b;
  return {static_cast<std::uint64_t>(static_cast<Word>(taken.bits)), taken.index};
}

/// The type as which an operation takes integers: sums and products of both signs have the same bits.
template <class T, class Operation, bool is_signed_sum = std::is_integral_v<T> && !Operation::selects>
struct TakenBy : std::type_identity<T> {};
template <class T, class Operation>
struct TakenBy<T, Operation, true> : std::make_unsigned<T> {};
template <class T, class Operation>
using TakenAs = typename TakenBy<T, Operation>::type;

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
  template <class T>
  KOKKOS_INLINE_FUNCTION static LocatedElement<T> apply(LocatedElement<T> a, LocatedElement<T> b) {
    return extreme_located<largest>(a, b);
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
  Wide multiplier{};
  Wide divisor{};

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

/// A SumScale in the type in which elements are computed.
template <class Wide>
struct WideSumScale {
  Wide first, second, multiplier, divisor;

  explicit WideSumScale(const SumScale& scale)
      : first(static_cast<Wide>(scale.first)),
        second(static_cast<Wide>(scale.second)),
        multiplier(static_cast<Wide>(scale.sum.multiplier)),
        divisor(static_cast<Wide>(scale.sum.divisor)) {}

  /// The scaled sum. Without `scales_sum` only the operands are scaled.
  template <bool scales_sum>
  KOKKOS_INLINE_FUNCTION Wide apply(Wide a, Wide b) const {
    const Wide sum = a * first + b * second;
    if constexpr (scales_sum) return sum * multiplier / divisor;
    return sum;
  }
};

/// Backend::reduce for element i, for a sum of which the operands are scaled.
template <class T, bool scales_sum>
struct ScaledSumKernel {
  std::byte* out;
  const std::byte* a;
  const std::byte* b;
  WideSumScale<WideOf<T>> scale;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const WideOf<T> x = widen(load<T>(a, i)), y = widen(load<T>(b, i));
    store<T>(out, i, narrow<T>(scale.template apply<scales_sum>(x, y)));
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
