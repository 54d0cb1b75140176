#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lacuna {

/// A rank or a number of ranks; also a position in an order of the ranks.
using Rank = std::int32_t;

/// Element type of a buffer. The numbers are part of the C API.
enum class Dtype : std::uint8_t { F32 = 0, F64 = 1, BF16 = 2, F16 = 3, I32 = 4, I64 = 5, U8 = 6 };

inline constexpr std::array all_dtypes = {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16,
                                          Dtype::I32, Dtype::I64, Dtype::U8};

/// How two elements become one. avg is a sum that is divided by the number of ranks in the accumulation type, before it
/// is rounded to the element type. min and max are IEEE 754-2019 minimum and maximum. Integers wrap around.
/// The numbers are part of the C API.
enum class Reduction : std::uint8_t { Sum = 0, Avg = 1, Min = 2, Max = 3, Prod = 4 };

inline constexpr std::array all_reductions = {Reduction::Sum, Reduction::Avg, Reduction::Min, Reduction::Max,
                                              Reduction::Prod};

/// Bytes of one element.
constexpr std::size_t size_of(Dtype dtype) {
  constexpr std::array<std::size_t, 7> sizes = {4, 8, 2, 2, 4, 8, 1};
  return sizes[static_cast<std::size_t>(dtype)];
}

constexpr bool is_integer(Dtype dtype) { return dtype >= Dtype::I32; }

/// The names used on command lines, in logs and in files: "f32", "bf16", "u8" ...
constexpr std::string_view to_string(Dtype dtype) {
  constexpr std::array<std::string_view, 7> names = {"f32", "f64", "bf16", "f16", "i32", "i64", "u8"};
  return names[static_cast<std::size_t>(dtype)];
}

constexpr std::string_view to_string(Reduction reduction) {
  constexpr std::array<std::string_view, 5> names = {"sum", "avg", "min", "max", "prod"};
  return names[static_cast<std::size_t>(reduction)];
}

/// The inverse of to_string. Nothing for an unknown name.
constexpr std::optional<Dtype> parse_dtype(std::string_view name) {
  for (Dtype dtype : all_dtypes) {
    if (to_string(dtype) == name) return dtype;
  }
  return std::nullopt;
}

constexpr std::optional<Reduction> parse_reduction(std::string_view name) {
  for (Reduction reduction : all_reductions) {
    if (to_string(reduction) == name) return reduction;
  }
  return std::nullopt;
}

}  // namespace lacuna
