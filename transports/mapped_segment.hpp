#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/values/mappable_heap.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// A segment of another process, mapped into this one. The pages stay as long as this object, even if the
/// other process ends. Thread rule: any thread may read.
class MappedSegment {
 public:
  enum class Use : std::uint8_t { Reading, Writing };

  /// Maps a segment. The error says what the system does not allow. Another file than the one that is meant, such as
  /// that of another process with this id, is refused, and so is one that could shrink.
  static Result<MappedSegment> map(const MappableSegment& segment, Use use = Use::Reading);

  MappedSegment(MappedSegment&& other) noexcept;
  MappedSegment& operator=(MappedSegment&&) = delete;
  ~MappedSegment();

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Where the segment begins. It must have been mapped for Use::Writing.
  std::byte* writable() const { return bytes_.data(); }

 private:
  explicit MappedSegment(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

/// Returns ok if another process of this host can map a MappableHeap of this one, or why it can't. It makes a process
/// to find out.
Status memory_can_be_mapped();

}  // namespace lacuna
