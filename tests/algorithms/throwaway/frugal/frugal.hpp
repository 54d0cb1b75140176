#pragma once

namespace lacuna {

/// Messages carry f16 in place of the elements that the call adds up.
struct Frugal {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/frugal/options.def"
#undef LACUNA_OPTION
};

}  // namespace lacuna
