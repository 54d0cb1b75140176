#pragma once

#include <string>

#include "runtime/graph/algorithm.hpp"

namespace lacuna::cli {

/// One position's task graph as a table that a person can read: steps by the length of the chain before them, what each
/// moves and whom it waits for.
std::string graph_table(const Algorithm& algorithm, const GraphShape& shape);

/// The same as a picture in Graphviz's language.
std::string graph_dot(const Algorithm& algorithm, const GraphShape& shape);

}  // namespace lacuna::cli
