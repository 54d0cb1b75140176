#pragma once

#include <Kokkos_Macros.hpp>
#include <cstdint>
#include <cstring>

/// The 16-bit floating-point types of lacuna: storage only, computed with in float. All functions run on host and
/// device, are free of branches, and vectorise. They do not depend on whether denormal floats are flushed to zero.
namespace lacuna::kernels {

/// The bits of `from` as a To of the same size.
template <class To, class From>
KOKKOS_INLINE_FUNCTION To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

/// bfloat16: the upper half of a float.
struct bf16 {
  std::uint16_t bits;
};

/// IEEE 754 binary16.
struct f16 {
  std::uint16_t bits;
};

/// Exact.
KOKKOS_INLINE_FUNCTION float to_float(bf16 value) { return bits_as<float>(std::uint32_t{value.bits} << 16); }

/// Exact.
KOKKOS_INLINE_FUNCTION float to_float(f16 value) {
  constexpr std::uint32_t rebias = (127u - 15u) << 23;
  constexpr std::uint32_t least_normal = rebias + (1u << 23);
  const std::uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  const std::uint32_t is_denormal = magnitude < (0x0400u << 13) ? 1u : 0u;
  const std::uint32_t is_infinite = magnitude < (0x7c00u << 13) ? 0u : 1u;
  const std::uint32_t scaled = magnitude + rebias + is_infinite * rebias + (is_denormal << 23);
  const float absolute = bits_as<float>(scaled) - bits_as<float>(is_denormal * least_normal);
  return bits_as<float>(bits_as<std::uint32_t>(absolute) | ((value.bits & 0x8000u) << 16));
}

/// Rounds to nearest, ties to even; overflows to infinity; NaNs become quiet.
KOKKOS_INLINE_FUNCTION bf16 to_bf16(float value) {
  const std::uint32_t bits = bits_as<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x0040u;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

/// Rounds to nearest, ties to even; overflows to infinity; NaNs become quiet.
///
/// The float addition does the rounding: to the magnitude, whose power of two is 2^e (at least that of the least normal
/// f16), it adds 2^(e + 13), so that the lowest bit of the sum stands for 2^(e - 10), the last place of an f16.
KOKKOS_INLINE_FUNCTION f16 to_f16(float value) {
  constexpr std::uint32_t least_power = (127u - 14u) << 23;
  constexpr std::uint32_t overflow_power = (127u + 16u) << 23;
  const std::uint32_t bits = bits_as<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t power = magnitude & 0x7f800000u;
  power = power < least_power ? least_power : power;
  power = power > overflow_power ? overflow_power : power;
  const std::uint32_t rounder = power + (13u << 23);
  const float sum = bits_as<float>(magnitude) + bits_as<float>(rounder);
  const std::uint32_t last_places = bits_as<std::uint32_t>(sum) - rounder;
  const std::uint32_t finite = ((power - least_power) >> 13) + last_places;
  const std::uint32_t number = finite > 0x7c00u ? 0x7c00u : finite;
  const std::uint32_t quiet = magnitude > 0x7f800000u ? 0x0200u : 0u;
  return {static_cast<std::uint16_t>(number | quiet | (bits >> 16 & 0x8000u))};
}

}  // namespace lacuna::kernels
