#include "runtime/values/memory.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace lacuna {
namespace {

class HostMemory final : public MemorySpace {
 public:
  MemoryKind kind() const override { return MemoryKind::Host; }
  std::byte* take(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
  }
  void give_back(std::byte* memory, std::size_t) noexcept override {
    ::operator delete (memory, std::align_val_t{alignment});
  }
  void clear(std::byte* memory, std::size_t bytes) override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

}  // namespace

MemorySpace& host_memory() {
  static HostMemory memory;
  return memory;
}

MemoryBlock::MemoryBlock(std::size_t bytes, MemorySpace& space)
    : space_(&space), data_(bytes > 0 ? space.take(bytes) : nullptr), size_(bytes) {
  space.clear(data_, size_);
}

MemoryBlock::MemoryBlock(std::span<const std::byte> bytes, MemorySpace& space)
    : space_(&space), data_(bytes.empty() ? nullptr : space.take(bytes.size())), size_(bytes.size()) {
  space.copy(data_, bytes.data(), bytes.size());
}

/// Of two kinds of memory, the one on the device knows how to copy.
MemoryBlock::MemoryBlock(const MemoryBlock& other, MemorySpace& space)
    : space_(&space), data_(other.size_ > 0 ? space.take(other.size_) : nullptr), size_(other.size_) {
  MemorySpace& copies = is_on_device(other.kind()) ? *other.space_ : space;
  copies.copy(data_, other.data_, size_);
}

MemoryBlock::MemoryBlock(const MemoryBlock& other) : MemoryBlock(other, *other.space_) {}

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : space_(other.space_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock other) noexcept {
  std::swap(space_, other.space_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MemoryBlock::~MemoryBlock() {
  if (data_) space_->give_back(data_, size_);
}

}  // namespace lacuna
