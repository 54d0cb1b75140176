#pragma once

#include "algorithms/phases/message_format.hpp"
#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace sparse {

/// The parameters that all sparse programs have. The programs of a method may extend it. sparse_form.def says what the
/// members mean.
struct Form {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/phases/sparse_form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/phases/sparse_form.def"
#undef LACUNA_PARAMETER
};

}  // namespace sparse

template <>
inline constexpr std::span<const Parameter> declared_parameters<sparse::Form>{sparse::form_parameters};

}  // namespace lacuna
