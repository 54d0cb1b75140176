#pragma once

#include "runtime/values/parameters.hpp"

namespace lacuna {

struct Frame;

/// What a graph depends on beside its algorithm, its ranks and their hosts.
struct Structure {
  bool in_place = false;         ///< the caller's input and output are the same memory
  bool maps_copies = false;      ///< other ranks of the host read copies of the caller's data, in memory that they map
  const Frame* frame = nullptr;  ///< the frame around the program; null: none
  Parameters parameters{};       ///< the parameters of the program

  friend bool operator==(const Structure&, const Structure&) = default;
};

}  // namespace lacuna
