#pragma once

#include <span>

#include "algorithms/cast/cast.hpp"
#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace casting {

/// The form of the programs of cast. form.def says what the members mean.
struct Form {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/cast/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/cast/form.def"
#undef LACUNA_PARAMETER
};

}  // namespace casting

template <>
inline constexpr std::span<const Parameter> declared_parameters<casting::Form>{casting::form_parameters};

}  // namespace lacuna
