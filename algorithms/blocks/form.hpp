#pragma once

#include <cstdint>

#include "runtime/values/dtype.hpp"
#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace block {

/// The form of a program of blocks. form.def says what the members mean.
struct Form {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/blocks/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

/// What each part of such a program is told when it runs. arguments.def says what the members mean.
struct Arguments {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/blocks/arguments.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Arguments&, const Arguments&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/blocks/form.def"
#undef LACUNA_PARAMETER
};
inline constexpr Parameter declared_arguments[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Arguments::name>(#name, {least, most}, meaning),
#include "algorithms/blocks/arguments.def"
#undef LACUNA_PARAMETER
};

}  // namespace block

template <>
inline constexpr std::span<const Parameter> declared_parameters<block::Form>{block::form_parameters};
template <>
inline constexpr std::span<const Parameter> declared_parameters<block::Arguments>{block::declared_arguments};

}  // namespace lacuna
