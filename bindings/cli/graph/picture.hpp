#pragma once

#include <string>
#include <string_view>

#include "runtime/graph/algorithm.hpp"

namespace lacuna::cli {

/// One position's task graph as a table that a person can read: steps by the length of the chain before them, what each
/// moves and whom it waits for. `method` is the text of that which it serves, or empty.
std::string graph_table(const Algorithm& algorithm, const GraphShape& shape, std::string_view method = {});

/// The same as a picture in Graphviz's language.
std::string graph_dot(const Algorithm& algorithm, const GraphShape& shape, std::string_view method = {});

}  // namespace lacuna::cli
