#include "kernels/levels.hpp"

#include <Kokkos_Macros.hpp>
#include <array>
#include <bit>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/reduce.hpp"
#include "kernels/space_backend.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::uint32_t least_spacing = 1, most_spacing = 253, no_spacing = 255;
constexpr std::size_t numbers_of_philox = 4, at_once = 32;

/// The bits of f32 or f64.
template <class T>
struct Number {
  using Bits = typename FloatBits<T>::Bits;
  static constexpr int fraction_bits = sizeof(T) == 4 ? 23 : 52;
  static constexpr int bias = sizeof(T) == 4 ? 127 : 1023;
  static constexpr Bits fraction = (Bits{1} << fraction_bits) - 1;

  KOKKOS_INLINE_FUNCTION static Bits magnitude(T number) {
    return std::bit_cast<Bits>(number) & (static_cast<Bits>(~Bits{0}) >> 1);
  }
  /// The byte of the least spacing by which no level of such a magnitude is too large. The largest level is just below
  /// a power of two. So the magnitude's own power of two tells the spacing but for one.
  KOKKOS_INLINE_FUNCTION static std::uint32_t spacing_of(Bits largest, const LevelsShape& shape) {
    if (largest >= FloatBits<T>::infinity) return no_spacing;
    const Bits most = std::bit_cast<Bits>(static_cast<T>(shape.most()));
    const int exponent = static_cast<int>(largest >> fraction_bits) - static_cast<int>(most >> fraction_bits);
    const int spacing = exponent + ((largest & fraction) > (most & fraction) ? 1 : 0) + 127;
    if (spacing < static_cast<int>(least_spacing)) return least_spacing;
    return spacing > static_cast<int>(most_spacing) ? no_spacing : static_cast<std::uint32_t>(spacing);
  }
  /// 2^(spacing - 127), or a NaN.
  KOKKOS_INLINE_FUNCTION static T size_of_spacing(std::uint32_t spacing) {
    const Bits number = static_cast<Bits>(static_cast<int>(spacing) - 127 + bias) << fraction_bits;
    return std::bit_cast<T>(spacing == no_spacing ? FloatBits<T>::infinity | FloatBits<T>::quiet : number);
  }
  /// 2^(127 - spacing), for a spacing that a message may have.
  KOKKOS_INLINE_FUNCTION static T spacings_of_one(std::uint32_t spacing) {
    return std::bit_cast<T>(static_cast<Bits>(127 - static_cast<int>(spacing) + bias) << fraction_bits);
  }
};

/// Rounds a number of spacings up or down, so that the mean is right: up if the random number, of 32 bits, is below the
/// fraction.
template <class T>
KOKKOS_INLINE_FUNCTION std::int32_t rounded_by(T spacings, std::uint32_t random) {
  const auto truncated = static_cast<std::int32_t>(spacings);
  const std::int32_t below = truncated - (spacings < static_cast<T>(truncated) ? 1 : 0);
  const double fraction = static_cast<double>(spacings) - static_cast<double>(below);
  const double number = static_cast<double>(static_cast<std::int32_t>(random ^ 0x80000000u)) + 0x1p31;
  return below + (number < fraction * 0x1p32 ? 1 : 0);
}

/// Backend::encode_levels for block `b`.
template <class T, int bits>
struct EncodeKernel {
  using Bits = typename Number<T>::Bits;

  LevelsShape shape;
  RandomStream random;
  const std::byte* from;
  std::size_t count;
  std::byte* spacings;
  std::byte* levels;
  std::byte* rest;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t b) const {
    const std::size_t first = b * shape.block, end = first + shape.block < count ? first + shape.block : count;
    Bits largest = 0;
    for (std::size_t i = first; i < end; ++i) {
      const Bits magnitude = Number<T>::magnitude(load<T>(from, i));
      largest = magnitude > largest ? magnitude : largest;
    }
    const std::uint32_t spacing = Number<T>::spacing_of(largest, shape);
    spacings[b] = static_cast<std::byte>(spacing);
    for (std::size_t i = first; i < end; i += at_once) encode(i, end - i < at_once ? end - i : at_once, spacing);
  }

  /// Encodes the next elements, `at_once` at most. The loops vectorise.
  KOKKOS_INLINE_FUNCTION void encode(std::size_t first, std::size_t elements, std::uint32_t spacing) const {
    std::uint32_t words[at_once];
    for (std::size_t group = 0; group < at_once / numbers_of_philox; ++group) {
      const std::uint64_t number = first / numbers_of_philox + group;
      const std::array drawn =
          philox({static_cast<std::uint32_t>(random.draw), static_cast<std::uint32_t>(random.draw >> 32),
                  static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)},
                 {static_cast<std::uint32_t>(random.key), static_cast<std::uint32_t>(random.key >> 32)});
      for (std::size_t j = 0; j < numbers_of_philox; ++j) words[group * numbers_of_philox + j] = drawn[j];
    }
    const bool is_sound = spacing != no_spacing;
    const T scale = Number<T>::spacings_of_one(is_sound ? spacing : least_spacing),
            size = Number<T>::size_of_spacing(spacing);
    std::int32_t rounded[at_once] = {};
    for (std::size_t j = 0; is_sound && j < elements; ++j) {
      rounded[j] = rounded_by(load<T>(from, first + j) * scale, words[j]);
    }
    for (std::size_t j = 0; rest && j < elements; ++j) {
      const T left = load<T>(from, first + j) - static_cast<T>(rounded[j]) * size;
      store<T>(rest, first + j, or_zero(left));
    }
    if constexpr (bits == 8) {
      for (std::size_t j = 0; j < elements; ++j) levels[first + j] = static_cast<std::byte>(rounded[j]);
    } else {
      for (std::size_t j = 0; j < (elements + 1) / 2; ++j) {
        levels[first / 2 + j] = static_cast<std::byte>((rounded[2 * j] & 15) | (rounded[2 * j + 1] & 15) << 4);
      }
    }
  }
};

/// Backend::decode_levels for block `b`.
template <class T, int bits, bool adds>
struct DecodeKernel {
  std::size_t block, count;
  const std::byte* spacings;
  const std::byte* levels;
  T factor;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t b) const {
    const std::size_t first = b * block, end = first + block < count ? first + block : count;
    const T size = factor * Number<T>::size_of_spacing(static_cast<std::uint32_t>(spacings[b]));
    for (std::size_t i = first; i < end; ++i) {
      const T value = static_cast<T>(level(i)) * size;
      if constexpr (adds) {
        store<T>(to, i, load<T>(to, i) + value);
      } else {
        store<T>(to, i, value);
      }
    }
  }

  KOKKOS_INLINE_FUNCTION int level(std::size_t i) const {
    if constexpr (bits == 8) {
      return static_cast<std::int8_t>(levels[i]);
    } else {
      const auto nibble = static_cast<int>(static_cast<std::uint32_t>(levels[i / 2]) >> (i % 2 * 4) & 15u);
      return (nibble ^ 8) - 8;
    }
  }
};

template <class T, int bits>
void encode_as(const LevelsShape& shape, const RandomStream& random, Source from, std::byte* message, std::byte* rest) {
  const std::size_t blocks = shape.blocks(from.count);
  Space::for_each(blocks, EncodeKernel<T, bits>{shape, random, from.data, from.count, message, message + blocks, rest});
}

template <class T, int bits>
void decode_as(const LevelsShape& shape, const std::byte* message, T factor, Target to, bool adds) {
  const std::size_t blocks = shape.blocks(to.count);
  const std::byte* const levels = message + blocks;
  if (adds) {
    Space::for_each(blocks, DecodeKernel<T, bits, true>{shape.block, to.count, message, levels, factor, to.data});
  } else {
    Space::for_each(blocks, DecodeKernel<T, bits, false>{shape.block, to.count, message, levels, factor, to.data});
  }
}

}  // namespace

void SpaceBackend::encode_levels(const LevelsShape& shape, const RandomStream& random, Source from, std::byte* message,
                                 std::byte* rest) const {
  with_number(from.dtype, [&]<class T>(Element<T>) {
    shape.bits == 8 ? encode_as<T, 8>(shape, random, from, message, rest)
                    : encode_as<T, 4>(shape, random, from, message, rest);
  });
}

void SpaceBackend::decode_levels(const LevelsShape& shape, const std::byte* message, double factor, Target to,
                                 bool adds) const {
  with_number(to.dtype, [&]<class T>(Element<T>) {
    const T by = static_cast<T>(factor);
    shape.bits == 8 ? decode_as<T, 8>(shape, message, by, to, adds) : decode_as<T, 4>(shape, message, by, to, adds);
  });
}

}  // namespace lacuna::kernels
