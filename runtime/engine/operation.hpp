#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/engine/link.hpp"
#include "runtime/engine/wire.hpp"

namespace lacuna::runtime {

/// Room in pinned memory with a range of a message's bytes, on their way from a device to the transport.
struct Stage {
  std::byte* memory = nullptr;
  std::size_t offset = 0;  ///< of the range in the message
  std::size_t bytes = 0;
  std::uint32_t users = 0;  ///< operations that send from it, and the function that starts them
};

/// A send or a fetch that the transport has not finished; it owns the header meanwhile.
struct Operation {
  MessageHeader header;
  StepOf step;  ///< no part: a credit message or a statement
  Rank peer = 0;
  std::size_t bytes = 0;
  std::size_t on_wire = 0;    ///< bytes counted in the link's window
  std::byte* slot = nullptr;  ///< of a fetch whose bytes are to be reduced, or to go on to a device
  MemoryKind slot_memory = MemoryKind::Host;
  Stage* stage = nullptr;  ///< of a send from a device: the room that holds the bytes
  bool fetch = false;
  std::vector<std::byte> statement;  ///< the bytes of the last statement that it sent
};

}  // namespace lacuna::runtime
