#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/values/memory.hpp"

namespace lacuna::runtime {

/// A first-in, first-out queue in a ring that grows by doubling and never shrinks, so that a steady state needs no
/// allocation.
template <class T>
class Fifo {
 public:
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  T& front() { return slot(head_); }

  void push(T value) {
    if (size() == ring_.size()) grow();
    slot(tail_++) = std::move(value);
  }
  T pop() { return std::move(slot(head_++)); }

  /// Makes room, so that this many more can be pushed without an allocation.
  void reserve(std::size_t more) {
    while (ring_.size() - size() < more) grow();
  }

  /// Takes out the first element that matches. This is quick if it stands near the front.
  template <class Predicate>
  std::optional<T> take_first(Predicate matches) {
    for (std::size_t at = head_; at != tail_; ++at) {
      if (!matches(slot(at))) continue;
      T taken = std::move(slot(at));
      for (; at != head_; --at) slot(at) = std::move(slot(at - 1));
      ++head_;
      return taken;
    }
    return std::nullopt;
  }
  /// Returns the first element that matches, or null.
  template <class Predicate>
  T* find(Predicate matches) {
    for (std::size_t at = head_; at != tail_; ++at) {
      if (matches(slot(at))) return &slot(at);
    }
    return nullptr;
  }

  /// Removes all elements that match, and keeps the order of the others.
  template <class Predicate>
  void remove_if(Predicate matches) {
    for (std::size_t left = size(); left > 0; --left) {
      T value = pop();
      if (!matches(value)) push(std::move(value));
    }
  }

 private:
  T& slot(std::size_t at) { return ring_[at & (ring_.size() - 1)]; }

  void grow() {
    std::vector<T> larger(ring_.empty() ? 16 : 2 * ring_.size());
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) larger[i] = std::move(slot(head_ + i));
    ring_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> ring_;
  std::size_t head_ = 0, tail_ = 0;
};

/// A pool of objects that are taken and given back. All are freed with the pool.
template <class T>
class ObjectPool {
 public:
  T* take() {
    if (free_.empty()) {
      if (free_.capacity() == all_.size()) free_.reserve(2 * all_.size() + 1);  // nothing is taken if this throws
      all_.push_back(std::make_unique<Slot>());
      free_.push_back(all_.back().get());
    }
    Slot* slot = free_.back();
    free_.pop_back();
    slot->is_taken = true;
    return slot;
  }
  void give_back(T* object) {
    auto* const slot = static_cast<Slot*>(object);
    slot->is_taken = false;
    free_.push_back(slot);
  }
  std::size_t in_use() const { return all_.size() - free_.size(); }
  /// Visits all objects that are taken, in no order. The visitor may give back the object that it is given, and may
  /// take others, which are not visited.
  template <class Visit>
  void each_taken(Visit visit) {
    for (std::size_t i = 0, count = all_.size(); i < count; ++i) {
      if (all_[i]->is_taken) visit(*all_[i]);
    }
  }

 private:
  struct Slot : T {
    bool is_taken = false;
  };

  std::vector<std::unique_ptr<Slot>> all_;
  std::vector<Slot*> free_;
};

/// A pool of blocks of one memory space, in powers of two. It keeps them for reuse, because fresh pages cost more than
/// the work on them. All are freed with the pool, also those that a failed call never gave back.
class BlockPool {
 public:
  explicit BlockPool(MemorySpace& space = host_memory()) : space_(&space) {}
  BlockPool(BlockPool&&) = default;
  BlockPool& operator=(BlockPool&&) = delete;
  ~BlockPool() {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      for (std::byte* block : classes_[i].all) space_->give_back(block, std::size_t{1} << i);
    }
  }

  MemorySpace& space() const { return *space_; }
  std::byte* take(std::size_t bytes) {
    Blocks& blocks = classes_[size_class(bytes)];
    if (blocks.free.empty()) {
      blocks.all.push_back(nullptr);
      blocks.free.reserve(blocks.all.capacity());
      blocks.all.back() = space_->take(std::size_t{1} << size_class(bytes));
      return blocks.all.back();
    }
    std::byte* block = blocks.free.back();
    blocks.free.pop_back();
    return block;
  }
  void give_back(std::byte* block, std::size_t bytes) noexcept { classes_[size_class(bytes)].free.push_back(block); }

 private:
  struct Blocks {
    std::vector<std::byte*> all;
    std::vector<std::byte*> free;
  };

  static std::size_t size_class(std::size_t bytes) { return static_cast<std::size_t>(std::bit_width(bytes | 63)); }

  MemorySpace* space_;  // never null
  std::array<Blocks, 65> classes_;
};

}  // namespace lacuna::runtime
