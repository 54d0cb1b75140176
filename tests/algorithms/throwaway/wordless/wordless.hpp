#pragma once

namespace lacuna {

/// Leaves out the first round of a ring, and counts nothing.
struct Wordless {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/wordless/options.def"
#undef LACUNA_OPTION
};

}  // namespace lacuna
