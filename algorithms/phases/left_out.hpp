#pragma once

#include "runtime/graph/builder.hpp"
#include "runtime/values/parameters.hpp"

namespace lacuna {

/// Which rounds a program leaves out. left_out.def says what the members mean.
struct LeftOut {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/phases/left_out.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

inline constexpr Parameter left_out_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&LeftOut::name>(#name, {least, most}, meaning),
#include "algorithms/phases/left_out.def"
#undef LACUNA_PARAMETER
};
template <>
inline constexpr std::span<const Parameter> declared_parameters<LeftOut>{left_out_parameters};

/// Returns how many of `all` rounds a phase leaves out. If `rounds` is more than `all`, the program refuses its
/// parameters.
int rounds_left_out(GraphBuilder& g, int rounds, int all);

}  // namespace lacuna
