#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/values/dtype.hpp"

/// Memory for the arrays in tests of kernels.
namespace lacuna::test {

/// Memory of `bytes` bytes at `offset` from an aligned address, with guards on both sides.
class Block {
 public:
  Block(std::size_t bytes, std::size_t offset) : memory_(bytes + 3 * margin, untouched), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = margin - address % margin + offset;
  }
  std::byte* data() { return memory_.data() + start_; }
  bool guards_hold() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < start_ || i >= start_ + bytes_) && memory_[i] != untouched) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t margin = 64;
  static constexpr std::byte untouched{0xa5};

  std::vector<std::byte> memory_;
  std::size_t bytes_;
  std::size_t start_ = 0;
};

/// The bits of element i.
inline std::uint64_t element(Dtype dtype, const std::byte* array, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, array + i * size_of(dtype), size_of(dtype));
  return bits;
}

inline void set_element(Dtype dtype, std::byte* array, std::size_t i, std::uint64_t bits) {
  std::memcpy(array + i * size_of(dtype), &bits, size_of(dtype));
}

/// Makes an array of elements, which are given as their bits, at this offset from an aligned address.
inline Block block_of(Dtype dtype, std::span<const std::uint64_t> elements, std::size_t offset) {
  Block block(elements.size() * size_of(dtype), offset);
  for (std::size_t i = 0; i < elements.size(); ++i) set_element(dtype, block.data(), i, elements[i]);
  return block;
}

/// The bits of the elements of an array.
inline std::vector<std::uint64_t> elements_of(Dtype dtype, const std::byte* array, std::size_t count) {
  std::vector<std::uint64_t> elements(count);
  for (std::size_t i = 0; i < count; ++i) elements[i] = element(dtype, array, i);
  return elements;
}

}  // namespace lacuna::test
