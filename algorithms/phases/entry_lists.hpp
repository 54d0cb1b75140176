#pragma once

#include "runtime/graph/builder.hpp"

/// The lists of entries that a call brings in place of its input or its output, as rows of the graph's table of buffers
/// (InputEntries, OutputEntries).
namespace lacuna::sparse {

/// Ports of a list that the call may bring. Each rank may bring one or none.
struct ReadInputEntries {
  Read places, values;

  /// Does the call bring a list? If not, the input holds all elements.
  bool are_there() const { return places->data != nullptr; }
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
