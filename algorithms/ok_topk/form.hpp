#pragma once

#include <cstdint>
#include <string_view>

#include "algorithms/phases/sparse_form.hpp"

namespace lacuna {
namespace ok {

/// Which part of a run a program carries out.
enum class Stage : std::uint8_t {
  Whole = 0,    ///< the whole run, with an exact selection
  Sums = 1,     ///< the run until all ranks know the quota of each
  Gather = 2,   ///< the rest of the run; blocks stay as long as they are
  Balance = 3,  ///< the rest of the run; blocks are made equally long
};
inline constexpr std::string_view stage_names[] = {"whole", "sums", "gather", "balance"};

}  // namespace ok

template <>
inline constexpr std::span<const std::string_view> names_of<ok::Stage>{ok::stage_names};

namespace ok {

/// The form of the program of ok_topk. form.def says what the members mean.
struct Form : sparse::Form {
  using Base = sparse::Form;

#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/ok_topk/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/ok_topk/form.def"
#undef LACUNA_PARAMETER
};

}  // namespace ok

template <>
inline constexpr std::span<const Parameter> declared_parameters<ok::Form>{ok::form_parameters};

}  // namespace lacuna
