#pragma once

#include <string_view>

#include "runtime/values/structure.hpp"

namespace lacuna {

class GraphBuilder;

/// What a library puts around a program: steps before it and after it, stated with the same builder. For instance,
/// other memory may stand for the caller's buffers. A frame is a constant, which its address identifies. It changes
/// neither the messages of a program nor whose terms are in its sums.
struct Frame {
  std::string_view name{};  ///< for texts such as "ring with feedback"
  /// One memory stands for both of the caller's buffers, so that the program is in place.
  bool replaces_both = false;
  void (*before)(GraphBuilder& g) = nullptr;
  void (*after)(GraphBuilder& g) = nullptr;  ///< null: no steps
};

/// The structure for a call. `in_place` says whether the call's two buffers are one memory, and `maps_copies` whether
/// others are to read copies of them.
inline Structure structure_of_call(const Structure& structure, bool in_place, bool maps_copies = false) {
  return {.in_place = in_place || (structure.frame && structure.frame->replaces_both),
          .maps_copies = maps_copies,
          .frame = structure.frame,
          .parameters = structure.parameters};
}

}  // namespace lacuna
