#pragma once

#include <cstddef>
#include <vector>

#include "runtime/engine/link.hpp"
#include "runtime/engine/wire.hpp"

namespace lacuna::runtime {

/// A send or a fetch that the transport has not finished; it owns the header meanwhile.
struct Operation {
  MessageHeader header;
  StepOf step;  ///< no part: a credit message or a statement
  Rank peer = 0;
  std::size_t bytes = 0;
  std::size_t on_wire = 0;    ///< bytes counted in the link's window
  std::byte* slot = nullptr;  ///< of a fetch whose bytes are to be reduced
  bool fetch = false;
  std::vector<std::byte> statement;  ///< the bytes of the last statement that it sent
};

}  // namespace lacuna::runtime
