#pragma once

#include "algorithms/phases/sparse_form.hpp"

namespace lacuna {

/// The form of the programs of topk. form.def says what the members mean.
struct TopkForm : sparse::Form {
  using Base = sparse::Form;

#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/topk/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const TopkForm&, const TopkForm&) = default;
};

inline constexpr Parameter topk_form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&TopkForm::name>(#name, {least, most}, meaning),
#include "algorithms/topk/form.def"
#undef LACUNA_PARAMETER
};
template <>
inline constexpr std::span<const Parameter> declared_parameters<TopkForm>{topk_form_parameters};

}  // namespace lacuna
