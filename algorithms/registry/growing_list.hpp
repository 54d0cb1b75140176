#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>

namespace lacuna {

/// Pointers, to which others are added but never taken away. Reading needs no lock, and what was read stays valid.
/// Only one thread at a time may add.
template <class Element>
class GrowingList {
 public:
  explicit GrowingList(std::span<const Element* const> first) {
    for (const Element* one : first) (void)add(*one);
  }

  std::span<const Element* const> all() const {
    return std::span(elements_).first(count_.load(std::memory_order_acquire));
  }
  /// Returns false if there is no room.
  bool add(const Element& element) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count == elements_.size()) return false;
    elements_[count] = &element;
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

 private:
  std::array<const Element*, 256> elements_{};
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace lacuna
