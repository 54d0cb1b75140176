#pragma once

#include <span>

#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace factoring {

/// The form of the program of lowrank. form.def says what the members mean.
struct Form {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/lowrank/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/lowrank/form.def"
#undef LACUNA_PARAMETER
};

}  // namespace factoring

template <>
inline constexpr std::span<const Parameter> declared_parameters<factoring::Form>{factoring::form_parameters};

}  // namespace lacuna
