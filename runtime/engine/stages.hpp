#pragma once

#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/pool.hpp"

namespace lacuna::runtime {

/// The stages in pinned memory through which data of a device go. Its owner locks.
class Stages {
 public:
  /// `memory` outlives the object.
  explicit Stages(MemoryPools& memory) : memory_(memory) {}

  /// Returns a stage for so many bytes, which lie so far from the begin of their message.
  Stage& take(std::size_t bytes, std::size_t offset = 0) {
    Stage& stage = *stages_.take();
    stage = {.memory = memory_.of(MemoryKind::CudaHost).take(bytes), .offset = offset, .bytes = bytes};
    count(bytes);
    return stage;
  }
  void release(Stage& stage) {
    memory_.of(MemoryKind::CudaHost).give_back(stage.memory, stage.bytes);
    stages_.give_back(&stage);
  }
  /// Counts bytes that go through pinned memory without a stage.
  void count(std::size_t bytes) { bytes_ += bytes; }
  /// Returns how many bytes have gone through pinned memory.
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryPools& memory_;
  ObjectPool<Stage> stages_;
  std::uint64_t bytes_ = 0;
};

}  // namespace lacuna::runtime
