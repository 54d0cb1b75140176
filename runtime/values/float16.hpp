#pragma once

#include <bit>
#include <cstdint>

/// The 16-bit floating-point types of lacuna. They only store a value; programs compute with it as a float. The
/// functions are free of branches, and compilers vectorise them. They give the same bits whether or not the processor
/// flushes denormal floats to zero. Kernels for a device use them too, as constexpr functions.
namespace lacuna {

/// bfloat16: the upper half of a float. A buffer of bf16 may also be read as one of any other bfloat16 type.
struct bf16 {
  std::uint16_t bits;
};

/// IEEE 754 binary16. A buffer of f16 may also be read as one of any other type of this format.
struct f16 {
  std::uint16_t bits;
};

/// The float of the same value: nothing is rounded.
constexpr float to_float(bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }

/// The float of the same value: nothing is rounded.
constexpr float to_float(f16 value) {
  constexpr std::uint32_t rebias = (127u - 15u) << 23;
  constexpr std::uint32_t least_normal = rebias + (1u << 23);
  const std::uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  const std::uint32_t is_denormal = magnitude < (0x0400u << 13) ? 1u : 0u;
  const std::uint32_t is_infinite = magnitude < (0x7c00u << 13) ? 0u : 1u;
  const std::uint32_t scaled = magnitude + rebias + is_infinite * rebias + (is_denormal << 23);
  const float absolute = std::bit_cast<float>(scaled) - std::bit_cast<float>(is_denormal * least_normal);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(absolute) | ((value.bits & 0x8000u) << 16));
}

/// Rounds to the nearest value, and ties to even. What is too large becomes infinity, and NaNs become quiet.
constexpr bf16 to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x0040u;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

/// Rounds to the nearest value, and ties to even. What is too large becomes infinity, and NaNs become quiet.
///
/// A float addition does the rounding. Let 2^e be the power of two of the magnitude, or of the least normal f16 if that
/// is larger. The function adds 2^(e + 13). So the lowest bit of the sum stands for 2^(e - 10), the last place of an
/// f16.
constexpr f16 to_f16(float value) {
  constexpr std::uint32_t least_power = (127u - 14u) << 23;
  constexpr std::uint32_t overflow_power = (127u + 16u) << 23;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t power = magnitude & 0x7f800000u;
  power = power < least_power ? least_power : power;
  power = power > overflow_power ? overflow_power : power;
  const std::uint32_t rounder = power + (13u << 23);
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(rounder);
  const std::uint32_t last_places = std::bit_cast<std::uint32_t>(sum) - rounder;
  const std::uint32_t finite = ((power - least_power) >> 13) + last_places;
  const std::uint32_t number = finite > 0x7c00u ? 0x7c00u : finite;
  const std::uint32_t quiet = magnitude > 0x7f800000u ? 0x0200u : 0u;
  return {static_cast<std::uint16_t>(number | quiet | (bits >> 16 & 0x8000u))};
}

}  // namespace lacuna
