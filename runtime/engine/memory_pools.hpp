#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "runtime/engine/pool.hpp"
#include "runtime/values/mappable_heap.hpp"
#include "runtime/values/memory.hpp"

namespace lacuna::runtime {

/// A pool for each kind of memory that an executor serves. Its parts, runs, slots and waiting messages take all of
/// their memory here. Its owner locks, except for space_of().
class MemoryPools {
 public:
  /// The spaces are of different kinds and outlive the pools. If none is the host's, host_memory() is added.
  explicit MemoryPools(std::span<MemorySpace* const> spaces = {}) {
    for (MemorySpace* space : spaces) pools_[index_of(space->kind())].emplace(*space);
    if (!pools_[index_of(MemoryKind::Host)]) pools_[index_of(MemoryKind::Host)].emplace(host_memory());
  }

  /// Throws std::invalid_argument if there is no memory of this kind.
  BlockPool& of(MemoryKind kind) {
    std::optional<BlockPool>& pool = pools_[index_of(kind)];
    if (!pool) throw std::invalid_argument("the executor serves no memory of the kind " + std::string(to_string(kind)));
    return *pool;
  }
  /// The memory of a kind, or the host's memory that other ranks of the host can map.
  BlockPool& of(MemoryKind kind, bool mappable) { return mappable ? mappable_ : of(kind); }
  /// Serves memory of another kind from now on.
  void add(MemorySpace& space) { pools_[index_of(space.kind())].emplace(space); }
  /// The memory of the host into which messages come. If there is a device, it reaches that memory.
  BlockPool& arrivals() {
    std::optional<BlockPool>& pinned = pools_[index_of(MemoryKind::CudaHost)];
    return pinned ? *pinned : host();
  }
  /// The space from which the pool of this kind takes its blocks. Throws as of(). Thread rule: any thread.
  MemorySpace& space_of(MemoryKind kind) const { return const_cast<MemoryPools*>(this)->of(kind).space(); }
  BlockPool& host() { return *pools_[index_of(MemoryKind::Host)]; }

 private:
  static std::size_t index_of(MemoryKind kind) { return static_cast<std::size_t>(kind); }

  std::array<std::optional<BlockPool>, memory_kinds> pools_;
  BlockPool mappable_{MappableHeap::of_process()};
};

}  // namespace lacuna::runtime
