#pragma once

#include "runtime/graph/builder.hpp"

/// The lists of entries that a call brings in place of its input or its output, as rows of the graph's table of buffers
/// (InputEntries, OutputEntries).
namespace lacuna::sparse {

/// Does this rank bring a list? If not, its input holds all elements. The list may be empty, and then lies nowhere.
inline bool brings_list(const PartView& part) { return part.call.input_entries.places != nullptr; }

/// Ports of a list that the call may bring. Each rank may bring one or none.
struct ReadInputEntries {
  Read places, values;
};
ReadInputEntries input_entries(GraphBuilder& g);
/// Returns all elements of an input that is not in place. Blocks lie one after the other. It is empty if the call
/// brings entries.
Extent elements_brought(const PartView& part);

/// The list that becomes the result, if the program is to make a list. Its values are the whole output.
struct OutputList {
  Region places, values, count;
};
OutputList output_list(GraphBuilder& g);

}  // namespace lacuna::sparse
