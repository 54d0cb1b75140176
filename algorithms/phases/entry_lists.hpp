#pragma once

#include "runtime/graph/builder.hpp"

/// The lists of entries that a call brings in place of its input or its output, as rows of the graph's table of buffers
/// (InputEntries, OutputEntries).
namespace lacuna::sparse {

/// Ports of a list that the call may bring. Each rank brings one or not, as it likes.
struct ReadInputEntries {
  Read places, values;

  /// Else the input holds all elements.
  bool are_there() const { return places->data != nullptr; }
};
ReadInputEntries input_entries(GraphBuilder& g);
/// All elements of the input that is not in place, of blocks one behind the other. None if the call brings entries.
Extent elements_brought(const PartView& part);

/// The list that becomes the result, in a program that is to make one. Its values are the output: all of it.
struct OutputList {
  Region places, values, count;
};
OutputList output_list(GraphBuilder& g);

}  // namespace lacuna::sparse
