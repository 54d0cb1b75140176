#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lacuna {

/// Where a buffer lies.
enum class MemoryKind : std::uint8_t {
  Host = 0,         ///< ordinary memory
  Cuda = 1,         ///< memory of a CUDA device
  CudaManaged = 2,  ///< memory that the host and the device both reach, and that moves between them
  CudaHost = 3      ///< pinned memory of the host, which the device reaches too
};

inline constexpr std::size_t memory_kinds = 4;

constexpr std::string_view to_string(MemoryKind kind) {
  constexpr std::string_view names[memory_kinds] = {"host", "cuda", "cuda_managed", "cuda_host"};
  return names[static_cast<std::size_t>(kind)];
}

/// Do kernels of a device compute on data in this kind of memory? If not, those of the host do.
constexpr bool is_on_device(MemoryKind kind) { return kind == MemoryKind::Cuda || kind == MemoryKind::CudaManaged; }

struct Memory {
  MemoryKind kind = MemoryKind::Host;
  int device = 0;
  void* stream = nullptr;  ///< a device buffer is ready after the work in this stream, a cudaStream_t; null is the
                           ///< default stream; unused for host memory
};

/// Are both of one kind and, on a device, on the same one and ready after the same stream?
constexpr bool are_alike(const Memory& a, const Memory& b) {
  return a.kind == b.kind && (!is_on_device(a.kind) || (a.device == b.device && a.stream == b.stream));
}

/// The memory as the engine sees it: managed memory is the device's, and pinned memory is the host's.
constexpr Memory memory_of_engine(Memory memory) {
  memory.kind = is_on_device(memory.kind) ? MemoryKind::Cuda : MemoryKind::Host;
  return memory;
}

/// Memory of one kind. All memory that lacuna takes for data of calls comes from one of these: that of parts, runs,
/// messages that wait, and states. Kernels compute on it by a kernels::Backend; everything else that touches it goes
/// through here. It outlives all that was taken from it. Any thread, several at the same time.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;
  virtual MemoryKind kind() const = 0;

  static constexpr std::size_t alignment = 64;
  /// Memory for so many bytes, aligned, with any content. Throws std::bad_alloc.
  virtual std::byte* take(std::size_t bytes) = 0;
  /// Gives back the memory that take() has returned for so many bytes. Null changes nothing.
  virtual void give_back(std::byte* memory, std::size_t bytes) noexcept = 0;

  // These functions return when they are done. Nothing else writes to the bytes meanwhile. The addresses may be null if
  // there are no bytes.

  /// Sets bytes of this memory to 0.
  virtual void clear(std::byte* memory, std::size_t bytes) = 0;
  /// Copies bytes within this memory, to it from the host, or from it to the host. The two do not overlap. Pinned
  /// memory belongs to the host here.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
};

/// The memory of this process, which every processor core reads and writes.
MemorySpace& host_memory();

/// A number of bytes in one memory space, which it owns. At first they are 0. A copy has bytes of its own, in the same
/// space. Copies and allocations throw std::bad_alloc.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  explicit MemoryBlock(std::size_t bytes, MemorySpace& space = host_memory());
  /// Makes a block with a copy of these bytes of the host.
  explicit MemoryBlock(std::span<const std::byte> bytes, MemorySpace& space = host_memory());
  /// Makes a block with a copy of the bytes of another one, which lies elsewhere.
  MemoryBlock(const MemoryBlock& other, MemorySpace& space);
  MemoryBlock(const MemoryBlock& other);
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock other) noexcept;
  ~MemoryBlock();

  MemoryKind kind() const { return space_->kind(); }
  /// Only code that may touch this kind of memory may follow the pointer.
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Copies all bytes to the host.
  void copy_to(std::byte* to) const { space_->copy(to, data_, size_); }

 private:
  MemorySpace* space_ = &host_memory();
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lacuna
