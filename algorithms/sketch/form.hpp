#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace sketching {

/// Which part of a run a program carries out. The union map is in the run's memory where another part needs it.
enum class Stage : std::uint8_t {
  Whole = 0,   ///< the whole run: the union, then its elements
  Map = 1,     ///< the union; it decides what follows
  Both = 2,    ///< the union and beside it a count sketch, which is decoded if it is smaller than the union
  Sketch = 3,  ///< a count sketch; the union is known
  Rest = 4,    ///< the elements of the union, which is known
  Peel = 5,    ///< the union and beside it a sketch, which is peeled
  Left = 6,    ///< the elements that could not be peeled
};
inline constexpr std::string_view stage_names[] = {"whole", "map", "both", "sketch", "rest", "peel", "left"};

/// The type of the cells of a sketch.
enum class Cells : std::uint8_t { F32 = 0, F64 = 1, I64 = 2 };
inline constexpr std::string_view cells_names[] = {"f32", "f64", "i64"};

}  // namespace sketching

template <>
inline constexpr std::span<const std::string_view> names_of<sketching::Stage>{sketching::stage_names};
template <>
inline constexpr std::span<const std::string_view> names_of<sketching::Cells>{sketching::cells_names};

namespace sketching {

/// The form of the programs of sketch. form.def says what the members mean.
struct Form {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/sketch/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

/// What each part is told when it runs. Graphs do not depend on it. arguments.def says what the members mean.
struct Arguments {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/sketch/arguments.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Arguments&, const Arguments&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/sketch/form.def"
#undef LACUNA_PARAMETER
};
inline constexpr Parameter declared_arguments[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Arguments::name>(#name, {least, most}, meaning),
#include "algorithms/sketch/arguments.def"
#undef LACUNA_PARAMETER
};

}  // namespace sketching

template <>
inline constexpr std::span<const Parameter> declared_parameters<sketching::Form>{sketching::form_parameters};
template <>
inline constexpr std::span<const Parameter> declared_parameters<sketching::Arguments>{sketching::declared_arguments};

}  // namespace lacuna
