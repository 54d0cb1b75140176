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
enum class Dtype : std::uint8_t {
#define LACUNA_DTYPE(enumerator, number, name, bytes, holds, type) enumerator = number,
#include "runtime/values/dtypes.def"
#undef LACUNA_DTYPE
};

/// What the elements of a type are.
enum class ElementKind : std::uint8_t {
  Floating,  ///< floating-point numbers
  Integer,   ///< integers, which wrap around
  Complex,   ///< complex numbers: the real part lies before the imaginary part
  Located,   ///< a number with a 64-bit index (Located)
  Opaque,    ///< so many bytes, which only the program's own reduction understands (OwnReduction)
};

/// How two elements become one. avg is the mean of all ranks' elements, which is in range where their sum is not
/// (factor_of_terms). min and max are IEEE 754-2019 minimum and maximum. Integers wrap around. Of located numbers, min
/// and max give the number with its index, and of equal numbers the one with the lowest index. Own is a function of the
/// program (Call::own). defines() says which reductions a type has. The numbers are part of the C API.
enum class Reduction : std::uint8_t { Sum = 0, Avg = 1, Min = 2, Max = 3, Prod = 4, Own = 5 };

/// The reductions that lacuna itself computes: all but Own.
inline constexpr std::array all_reductions = {Reduction::Sum, Reduction::Avg, Reduction::Min, Reduction::Max,
                                              Reduction::Prod};

inline constexpr std::array all_dtypes = {
#define LACUNA_DTYPE(enumerator, number, name, bytes, holds, type) Dtype::enumerator,
#include "runtime/values/dtypes.def"
#undef LACUNA_DTYPE
};

/// Properties of a type. Their table stands outside the functions that read it, because g++ writes a local table to the
/// stack at each call.
struct DtypeTraits {
  std::size_t bytes;
  ElementKind kind;
};
inline constexpr DtypeTraits dtype_traits[] = {
#define LACUNA_DTYPE(enumerator, number, name, bytes, holds, type) {bytes, ElementKind::holds},
#include "runtime/values/dtypes.def"
#undef LACUNA_DTYPE
};

/// Bytes of one element.
constexpr std::size_t size_of(Dtype dtype) { return dtype_traits[static_cast<std::size_t>(dtype)].bytes; }

constexpr ElementKind element_kind(Dtype dtype) { return dtype_traits[static_cast<std::size_t>(dtype)].kind; }

constexpr bool is_integer(Dtype dtype) { return element_kind(dtype) == ElementKind::Integer; }
constexpr bool is_floating(Dtype dtype) { return element_kind(dtype) == ElementKind::Floating; }
/// Are the elements real numbers: of floating point, or integers? Methods take no others.
constexpr bool is_real(Dtype dtype) { return is_floating(dtype) || is_integer(dtype); }

inline constexpr auto real_dtypes = [] {
  constexpr std::size_t count = [] {
    std::size_t found = 0;
    for (Dtype dtype : all_dtypes) found += is_real(dtype) ? 1 : 0;
    return found;
  }();
  std::array<Dtype, count> all{};
  std::size_t next = 0;
  for (Dtype dtype : all_dtypes) {
    if (is_real(dtype)) all[next++] = dtype;
  }
  return all;
}();

/// Is the reduction defined for elements of this type?
constexpr bool defines(Dtype dtype, Reduction reduction) {
  switch (element_kind(dtype)) {
    case ElementKind::Floating:
      return reduction != Reduction::Own;
    case ElementKind::Integer:
      return reduction != Reduction::Own && reduction != Reduction::Avg;
    case ElementKind::Complex:
      return reduction == Reduction::Sum || reduction == Reduction::Prod;
    case ElementKind::Located:
      return reduction == Reduction::Min || reduction == Reduction::Max;
    case ElementKind::Opaque:
      break;
  }
  return reduction == Reduction::Own;
}

/// The names used on command lines, in logs and in files: "f32", "bf16", "u8" ...
constexpr std::string_view to_string(Dtype dtype) {
  constexpr std::array<std::string_view, all_dtypes.size()> names = {
#define LACUNA_DTYPE(enumerator, number, name, bytes, holds, type) name,
#include "runtime/values/dtypes.def"
#undef LACUNA_DTYPE
  };
  return names[static_cast<std::size_t>(dtype)];
}

constexpr std::string_view to_string(Reduction reduction) {
  constexpr std::array<std::string_view, 6> names = {"sum", "avg", "min", "max", "prod", "own"};
  return names[static_cast<std::size_t>(reduction)];
}

/// The inverse of to_string. Nothing for an unknown name.
constexpr std::optional<Dtype> parse_dtype(std::string_view name) {
  for (Dtype dtype : all_dtypes) {
    if (to_string(dtype) == name) return dtype;
  }
  return std::nullopt;
}

/// The inverse of to_string, for the reductions of lacuna. Nothing for another name.
constexpr std::optional<Reduction> parse_reduction(std::string_view name) {
  for (Reduction reduction : all_reductions) {
    if (to_string(reduction) == name) return reduction;
  }
  return std::nullopt;
}

}  // namespace lacuna
