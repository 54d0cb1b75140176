#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/values/dtype.hpp"
#include "runtime/values/scale.hpp"

/// What the kernels should compute, element by element on bits. The arithmetic shares nothing with that of the kernels:
/// decimal scaling by ldexp, rounding by nearbyint, wide integers.
namespace lacuna::oracle {

/// A 16-bit format: the number of bits of the fraction, and the exponent of the least normal number.
struct Format {
  int fraction;
  int least_exponent;
  std::uint64_t infinity;
};

inline constexpr Format bf16_format = {7, -126, 0x7f80};
inline constexpr Format f16_format = {10, -14, 0x7c00};

inline double decode16(const Format& format, std::uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const auto exponent = static_cast<int>((bits & 0x7fff) >> format.fraction);
  const auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << format.fraction) - 1));
  const auto all_ones = static_cast<int>(format.infinity >> format.fraction);
  if (exponent == all_ones) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const double units = exponent == 0 ? fraction : fraction + std::ldexp(1.0, format.fraction);
  const int scale = format.least_exponent - format.fraction + (exponent == 0 ? 0 : exponent - 1);
  return sign * std::ldexp(units, scale);
}

/// Rounds to the nearest number, and ties to even. Any NaN becomes infinity plus one.
inline std::uint64_t encode16(const Format& format, double value) {
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return format.infinity + 1;
  if (std::isinf(value)) return sign | format.infinity;
  const int binade = value == 0 ? format.least_exponent : std::max(std::ilogb(value), format.least_exponent);
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::fabs(value), format.fraction - binade)));
  const auto base = static_cast<std::uint64_t>(binade - format.least_exponent) << format.fraction;
  return sign | std::min(base + units, format.infinity);
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

inline double decode(Dtype dtype, std::uint64_t bits) {
  switch (dtype) {
    case Dtype::BF16:
      return decode16(bf16_format, bits);
    case Dtype::F16:
      return decode16(f16_format, bits);
    case Dtype::F32:
      return from_bits<float>(bits);
    default:
      return from_bits<double>(bits);
  }
}

inline std::uint64_t encode(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::BF16:
      return encode16(bf16_format, value);
    case Dtype::F16:
      return encode16(f16_format, value);
    case Dtype::F32:
      return to_bits(static_cast<float>(value));
    default:
      return to_bits(value);
  }
}

/// Rounds to the accumulation type. For one operation on floats, rounding through double equals rounding once, because
/// 53 bits are more than twice 24 plus 1.
inline double accumulated(Dtype dtype, double value) { return dtype == Dtype::F64 ? value : static_cast<float>(value); }

inline double extreme(bool largest, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) == largest ? b : a;
  return (a < b) == largest ? b : a;
}

inline double combined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::Min:
    case Reduction::Max:
      return extreme(reduction == Reduction::Max, a, b);
    case Reduction::Prod:
      return a * b;
    default:
      return a + b;
  }
}

template <class T>
std::uint64_t reduce_integers(Reduction reduction, std::uint64_t a_bits, std::uint64_t b_bits) {
  const __int128 a = from_bits<T>(a_bits);
  const __int128 b = from_bits<T>(b_bits);
  switch (reduction) {
    case Reduction::Min:
      return to_bits(static_cast<T>(a < b ? a : b));
    case Reduction::Max:
      return to_bits(static_cast<T>(a < b ? b : a));
    case Reduction::Prod:
      return to_bits(static_cast<T>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
    default:
      return to_bits(static_cast<T>(a + b));
  }
}

inline std::uint64_t scaled(Dtype dtype, double value, Scale scale) {
  const double multiplied = accumulated(dtype, value * accumulated(dtype, scale.multiplier));
  return encode(dtype, accumulated(dtype, multiplied / scale.divisor));
}

/// The bits of round((a op b) scaled). `a` and `b` are bits of elements of the dtype.
inline std::uint64_t reduce(Dtype dtype, Reduction reduction, const SumScale& scale, std::uint64_t a, std::uint64_t b) {
  switch (dtype) {
    case Dtype::I32:
      return reduce_integers<std::int32_t>(reduction, a, b);
    case Dtype::I64:
      return reduce_integers<std::int64_t>(reduction, a, b);
    case Dtype::U8:
      return reduce_integers<std::uint8_t>(reduction, a, b);
    case Dtype::I8:
      return reduce_integers<std::int8_t>(reduction, a, b);
    case Dtype::I16:
      return reduce_integers<std::int16_t>(reduction, a, b);
    case Dtype::U16:
      return reduce_integers<std::uint16_t>(reduction, a, b);
    case Dtype::U32:
      return reduce_integers<std::uint32_t>(reduction, a, b);
    case Dtype::U64:
      return reduce_integers<std::uint64_t>(reduction, a, b);
    default: {
      const bool adds = reduction == Reduction::Sum || reduction == Reduction::Avg;
      const double x = accumulated(dtype, decode(dtype, a) * (adds ? scale.first : 1));
      const double y = accumulated(dtype, decode(dtype, b) * (adds ? scale.second : 1));
      return scaled(dtype, accumulated(dtype, combined(reduction, x, y)), scale.sum);
    }
  }
}

/// Are the bits equal, or are both NaNs?
inline bool same(Dtype dtype, std::uint64_t a, std::uint64_t b) {
  return a == b || (!is_integer(dtype) && std::isnan(decode(dtype, a)) && std::isnan(decode(dtype, b)));
}

}  // namespace lacuna::oracle
