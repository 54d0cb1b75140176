#pragma once

#include <cstddef>
#include <span>

#include "runtime/values/mappable_heap.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// A segment of another process, mapped into this one for reading. The pages stay as long as this object, even if the
/// other process ends. Thread rule: any thread may read.
class MappedSegment {
 public:
  /// Maps a segment. The error says what the system does not allow. Another file than the one that is meant, such as
  /// that of another process with this id, is refused, and so is one that could shrink.
  static Result<MappedSegment> map(const MappableSegment& segment);

  MappedSegment(MappedSegment&& other) noexcept;
  MappedSegment& operator=(MappedSegment&&) = delete;
  ~MappedSegment();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedSegment(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

/// Returns ok if another process of this host can map a MappableHeap of this one, or why it can't. It makes a process
/// to find out.
Status memory_can_be_mapped();

}  // namespace lacuna
