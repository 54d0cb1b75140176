#pragma once

#include <memory>

#include "runtime/values/dtype.hpp"
#include "runtime/values/mappable_heap.hpp"
#include "transports/board.hpp"

namespace lacuna {

/// The memory of a board while ranks agree on it. One of them makes it and offers it, and all map it. It is used only
/// if all have done so. Thread rule: one thread at a time.
class OfferedBoard {
 public:
  explicit OfferedBoard(Rank members) : members_(members) {}

  /// Makes the memory and maps it. Returns what the others need to map it, which they can until this object ends. Its
  /// length is 0 if the system gives no such memory.
  MappableSegment make();
  /// Maps what another rank of this host has made. The log says why, if that can't be.
  void take(const MappableSegment& offer);
  /// Returns the memory, which stays as long as one rank holds it. Null: this process has not mapped it.
  const std::shared_ptr<std::byte>& memory() const { return memory_; }

 private:
  const Rank members_;
  Board::Shared made_;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace lacuna
