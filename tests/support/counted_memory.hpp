#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "runtime/values/memory.hpp"

namespace lacuna::test {

/// Memory of the host that knows what has been taken from it. Any thread.
class CountedMemory final : public MemorySpace {
 public:
  MemoryKind kind() const override { return MemoryKind::Host; }
  std::byte* take(std::size_t bytes) override {
    std::byte* const memory = host_memory().take(bytes);
    const std::lock_guard lock(mutex_);
    blocks_[memory] = bytes;
    ++taken_;
    return memory;
  }
  void give_back(std::byte* memory, std::size_t bytes) noexcept override {
    if (!memory) return;
    {
      const std::lock_guard lock(mutex_);
      const auto found = blocks_.find(memory);
      if (found == blocks_.end() || found->second != bytes) {
        ++strange_;
        return;
      }
      blocks_.erase(found);
    }
    host_memory().give_back(memory, bytes);
  }
  void clear(std::byte* memory, std::size_t bytes) override { host_memory().clear(memory, bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { host_memory().copy(to, from, bytes); }

  /// How many blocks have been taken since the beginning, and how many of them have not been given back.
  std::size_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  std::size_t in_use() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  /// How many blocks were given back that had not been taken, or with another length.
  std::size_t strange() const {
    const std::lock_guard lock(mutex_);
    return strange_;
  }
  /// Does all of this memory lie in one block?
  bool holds(const std::byte* memory, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<std::byte*>(memory));
    if (after == blocks_.begin()) return false;
    --after;
    return memory + bytes <= after->first + after->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> blocks_;
  std::size_t taken_ = 0, strange_ = 0;
};

}  // namespace lacuna::test
