#pragma once

#include <cstdint>

#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace sparse {

/// What each part of a sparse program is told when it runs. Graphs do not depend on it. sparse_arguments.def says what
/// the members mean.
struct Arguments {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/phases/sparse_arguments.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Arguments&, const Arguments&) = default;
};

inline constexpr Parameter declared_arguments[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Arguments::name>(#name, {least, most}, meaning),
#include "algorithms/phases/sparse_arguments.def"
#undef LACUNA_PARAMETER
};

}  // namespace sparse

template <>
inline constexpr std::span<const Parameter> declared_parameters<sparse::Arguments>{sparse::declared_arguments};

}  // namespace lacuna
