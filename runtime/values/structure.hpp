#pragma once

#include "runtime/values/parameters.hpp"

namespace lacuna {

struct Frame;

/// What a graph depends on beside its algorithm, its ranks and their hosts.
struct Structure {
  bool in_place = false;         ///< the caller's two buffers are one memory
  const Frame* frame = nullptr;  ///< what stands around the program; null: nothing
  Parameters parameters{};       ///< of the program

  friend bool operator==(const Structure&, const Structure&) = default;
};

}  // namespace lacuna
