#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/values/memory.hpp"

namespace lacuna {

/// Identifies the memory of a process that another process of the same host can map.
struct MappableSegment {
  std::int32_t process = 0;     ///< a process id
  std::int32_t descriptor = 0;  ///< of that process: an open memfd, which can't shrink
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
};

/// Memory that other processes of this host can map, so that they read messages where they lie. It consists of
/// segments, each a memfd of a fixed length. Their pages are taken when memory is taken. Some pages of memory that is
/// given back are kept, and all others go back to the system, so that a process that still reads them sees zeros and
/// gets no signal. All of it is gone when the processes are, however they end. Where the system gives no such memory,
/// and beyond a bound, the heap gives ordinary memory. Thread rule: any thread.
class MappableHeap final : public MemorySpace {
 public:
  /// Where bytes lie: the number of a segment, which is never used again, and an offset in it.
  struct Place {
    std::uint32_t segment = 0;
    std::uint64_t offset = 0;
  };

  /// The heap of this process, which stays until the process ends.
  static MappableHeap& of_process();

  /// `most_idle` bytes of pages that nobody uses are kept at most. A segment has `least_segment` bytes or more, if
  /// files may be so long.
  explicit MappableHeap(std::size_t most_idle = 256 << 20, std::size_t least_segment = 1ull << 30)
      : most_idle_(most_idle), least_segment_(least_segment) {}
  ~MappableHeap() override;
  MappableHeap(const MappableHeap&) = delete;
  MappableHeap& operator=(const MappableHeap&) = delete;

  /// From now on memory is ordinary if so many bytes of mappable memory are taken.
  void set_bound(std::size_t bytes);
  /// Returns where all of these bytes lie in one segment. Nothing: they do not, so that nobody can map them.
  std::optional<Place> find(std::span<const std::byte> bytes) const;
  /// Returns what another process needs to map a segment.
  MappableSegment segment(std::uint32_t number) const;
  /// The number of bytes of mappable memory that are taken.
  std::size_t taken() const;

  MemoryKind kind() const override { return MemoryKind::Host; }
  std::byte* take(std::size_t bytes) override;
  /// The number of bytes does not count: the heap knows it.
  void give_back(std::byte* memory, std::size_t bytes) noexcept override;
  void clear(std::byte* memory, std::size_t bytes) override { host_memory().clear(memory, bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { host_memory().copy(to, from, bytes); }

 private:
  struct Segment {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    int descriptor = -1;
    pid_t owner = 0;  // the process that takes memory from it, and no process that was forked from that one
    std::uint64_t device = 0, inode = 0;
    std::map<std::size_t, std::size_t> free{};  // offset and length of each range; no two of them touch
    std::vector<bool> idle{};                   // by page: nobody uses it, and it is kept
  };
  static constexpr std::uint32_t ordinary = UINT32_MAX;  // in place of a segment

  struct Taken {
    std::uint32_t segment = ordinary;
    std::size_t offset = 0, bytes = 0;
  };

  void unlock();
  std::byte* take_mappable(std::size_t bytes);
  std::byte* take_ordinary(std::size_t bytes);
  std::byte* take_from(std::uint32_t number, std::size_t bytes);
  bool add_segment(std::size_t bytes);
  void free_range(Segment& segment, std::size_t offset, std::size_t bytes);
  void let_go_of_pages(Segment& segment, std::size_t begin, std::size_t end);

  // mutex_ guards everything. `look_` is held too while a segment is added, so that find() need not wait until pages
  // have been taken, which takes long.
  mutable std::mutex mutex_, look_;
  std::deque<Segment> segments_;
  std::unordered_map<const void*, Taken> taken_;
  std::size_t taken_bytes_ = 0;  // of segments
  std::size_t bound_ = SIZE_MAX;
  std::size_t idle_bytes_ = 0;
  const std::size_t most_idle_, least_segment_;
};

}  // namespace lacuna
