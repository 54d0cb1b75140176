#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/engine/arrived.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/memory.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// What has come of a message before its step could take it. Eager bytes lie in memory of the landing; descriptors are
/// kept.
struct Landing {
  struct Piece {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  struct Waiting {
    std::size_t offset = 0;
    Descriptor descriptor;
  };

  Rank source = 0;  ///< process that sends it
  // The next members are from the message's header.
  std::uint32_t run = 0;
  std::uint32_t part = 0;
  std::uint32_t index = 0;
  std::uint32_t digest = 0;
  Dtype dtype = Dtype::U8;
  bool eager = false;
  std::uint64_t bytes = 0;  ///< of the whole message
  std::byte* memory = nullptr;
  MemoryKind kind = MemoryKind::Host;  ///< of `memory`
  Arrived arrived;                     ///< of a collective's message
  std::vector<Piece> pieces;
  std::vector<Waiting> descriptors;
  Landing* next = nullptr;  ///< of a call's message that has come early: another one
  std::uint64_t turn = 0;   ///< of a message without a receive: those that came earlier have a smaller number
  std::uint32_t users = 0;  ///< of `memory`, once a step takes the message: works, and the function that starts them
};

}  // namespace lacuna::runtime
