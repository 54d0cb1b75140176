#pragma once

#include <string>
#include <string_view>

#include "runtime/graph/algorithm.hpp"

namespace lacuna::cli {

/// Shows one position's graph as a table that a person can read: steps by the length of the chain before them, what
/// each moves, and whom it waits for. `method` is the text of the method that the program serves, or empty.
std::string graph_table(const Algorithm& algorithm, const GraphShape& shape, std::string_view method = {});

/// Shows the graph as a picture in Graphviz's language.
std::string graph_dot(const Algorithm& algorithm, const GraphShape& shape, std::string_view method = {});

}  // namespace lacuna::cli
