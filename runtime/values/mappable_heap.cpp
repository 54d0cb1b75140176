#include "runtime/values/mappable_heap.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>

#include "runtime/values/standard_streams.hpp"

namespace lacuna {
namespace {

constexpr std::size_t page = 64 << 10;  // a multiple of the page of every system

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Takes pages from the system, so that no later access can fail. Returns false if there are not enough.
bool populate(int descriptor, std::byte* segment, std::size_t begin, std::size_t end) {
#ifdef MADV_POPULATE_WRITE
  if (::madvise(segment + begin, end - begin, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;  // else the kernel does not know it
#endif
  return ::fallocate(descriptor, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0;
}

void punch(int descriptor, std::size_t begin, std::size_t end) {
  ::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
              static_cast<off_t>(end - begin));
}

/// The longest file that this process may make. The system would end it by a signal if it made a longer one.
std::size_t longest_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

// No other thread may be at work in the heap when the process forks: in the child nobody would unlock it.
MappableHeap& MappableHeap::of_process() {
  static MappableHeap* const heap = [] {
    static auto* const made = new MappableHeap();
    ::pthread_atfork([] { std::lock(made->mutex_, made->look_); }, [] { made->unlock(); }, [] { made->unlock(); });
    return made;
  }();
  return *heap;
}

void MappableHeap::unlock() {
  mutex_.unlock();
  look_.unlock();
}

MappableHeap::~MappableHeap() {
  for (const Segment& segment : segments_) {
    ::munmap(segment.begin, segment.bytes);
    ::close(segment.descriptor);
  }
}

void MappableHeap::set_bound(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bound_ = bytes;
}

std::byte* MappableHeap::take(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  const std::size_t rounded = rounded_up(std::max<std::size_t>(bytes, 1), alignment);
  const std::lock_guard lock(mutex_);
  std::byte* const memory = take_mappable(rounded);
  return memory ? memory : take_ordinary(rounded);
}

/// Returns null if there is no such memory.
std::byte* MappableHeap::take_mappable(std::size_t bytes) {
  if (bytes > bound_ || taken_bytes_ > bound_ - bytes) return nullptr;
  for (std::size_t i = segments_.size(); i-- > 0;) {
    if (segments_[i].owner != ::getpid()) continue;
    if (std::byte* memory = take_from(static_cast<std::uint32_t>(i), bytes)) return memory;
  }
  if (!add_segment(bytes)) return nullptr;
  return take_from(static_cast<std::uint32_t>(segments_.size() - 1), bytes);
}

std::byte* MappableHeap::take_ordinary(std::size_t bytes) {
  std::byte* const memory = host_memory().take(bytes);
  try {
    taken_.emplace(memory, Taken{.bytes = bytes});
  } catch (const std::bad_alloc&) {
    host_memory().give_back(memory, bytes);
    throw;
  }
  return memory;
}

/// Takes the first free range that suffices. Long ranges begin at a page.
std::byte* MappableHeap::take_from(std::uint32_t number, std::size_t bytes) {
  Segment& segment = segments_[number];
  for (auto range = segment.free.begin(); range != segment.free.end(); ++range) {
    const auto [free_begin, free_bytes] = *range;
    const std::size_t begin = bytes < page ? free_begin : rounded_up(free_begin, page);
    const std::size_t end = begin + bytes, free_end = free_begin + free_bytes;
    if (end > free_end) continue;
    if (!populate(segment.descriptor, segment.begin, begin / page * page, rounded_up(end, page))) return nullptr;
    std::byte* const memory = segment.begin + begin;
    const auto noted = taken_.emplace(memory, Taken{number, begin, bytes}).first;
    try {
      if (end < free_end) segment.free.emplace(end, free_end - end);
    } catch (const std::bad_alloc&) {
      taken_.erase(noted);
      throw;
    }
    range->second = begin - free_begin;
    if (range->second == 0) segment.free.erase(range);
    for (std::size_t at = begin / page; at < rounded_up(end, page) / page; ++at) {
      if (segment.idle[at]) idle_bytes_ -= page;
      segment.idle[at] = false;
    }
    taken_bytes_ += bytes;
    return memory;
  }
  return nullptr;
}

bool MappableHeap::add_segment(std::size_t bytes) {
  Segment segment{.bytes = std::max(rounded_up(bytes, page), std::min(least_segment_, longest_file() / page * page))};
  if (segment.bytes > longest_file()) return false;
  segment.free.emplace(0, segment.bytes);
  segment.idle.resize(segment.bytes / page);
  hold_standard_streams();
  segment.descriptor = ::memfd_create("lacuna", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (segment.descriptor < 0) return false;
  struct stat status {};
  const bool made = ::ftruncate(segment.descriptor, static_cast<off_t>(segment.bytes)) == 0 &&
                    ::fcntl(segment.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                    ::fstat(segment.descriptor, &status) == 0;
  void* const begin =
      made ? ::mmap(nullptr, segment.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.descriptor, 0) : MAP_FAILED;
  if (begin == MAP_FAILED) {
    ::close(segment.descriptor);
    return false;
  }
  ::madvise(begin, segment.bytes, MADV_HUGEPAGE);  // where the system allows it for shared memory
  segment.begin = static_cast<std::byte*>(begin);
  segment.owner = ::getpid();
  segment.device = status.st_dev;
  segment.inode = status.st_ino;
  const std::lock_guard lock(look_);
  segments_.push_back(std::move(segment));
  return true;
}

void MappableHeap::give_back(std::byte* memory, std::size_t) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(memory);
  if (found == taken_.end()) return;
  const Taken taken = found->second;
  taken_.erase(found);
  if (taken.segment == ordinary) return host_memory().give_back(memory, taken.bytes);
  taken_bytes_ -= taken.bytes;
  Segment& segment = segments_[taken.segment];
  if (segment.owner != ::getpid()) return;  // this process was forked from its owner, which may still use the memory
  try {
    free_range(segment, taken.offset, taken.bytes);
  } catch (const std::bad_alloc&) {  // the range stays unused
  }
}

/// Adds a range to the free ones.
void MappableHeap::free_range(Segment& segment, std::size_t offset, std::size_t bytes) {
  std::size_t begin = offset, end = offset + bytes;
  const auto at = segment.free.emplace(offset, bytes).first;
  if (const auto next = std::next(at); next != segment.free.end() && next->first == end) {
    end += next->second;
    segment.free.erase(next);
  }
  at->second = end - begin;
  if (at != segment.free.begin()) {
    if (const auto before = std::prev(at); before->first + before->second == begin) {
      begin = before->first;
      before->second = end - begin;
      segment.free.erase(at);
    }
  }
  const std::size_t first = std::max(rounded_up(begin, page), offset / page * page);
  const std::size_t last = std::min(end / page * page, rounded_up(offset + bytes, page));
  if (first < last) let_go_of_pages(segment, first, last);
}

/// Keeps pages that nobody uses any more, or gives them to the system.
void MappableHeap::let_go_of_pages(Segment& segment, std::size_t begin, std::size_t end) {
  if (idle_bytes_ + (end - begin) > most_idle_) return punch(segment.descriptor, begin, end);
  for (std::size_t at = begin / page; at < end / page; ++at) segment.idle[at] = true;
  idle_bytes_ += end - begin;
}

std::optional<MappableHeap::Place> MappableHeap::find(std::span<const std::byte> bytes) const {
  const std::lock_guard lock(look_);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (bytes.data() < segment.begin || bytes.data() + bytes.size() > segment.begin + segment.bytes) continue;
    return Place{static_cast<std::uint32_t>(i), static_cast<std::uint64_t>(bytes.data() - segment.begin)};
  }
  return std::nullopt;
}

MappableSegment MappableHeap::segment(std::uint32_t number) const {
  const std::lock_guard lock(look_);
  const Segment& segment = segments_[number];
  return {.process = static_cast<std::int32_t>(::getpid()),
          .descriptor = segment.descriptor,
          .device = segment.device,
          .inode = segment.inode,
          .bytes = segment.bytes};
}

std::size_t MappableHeap::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_bytes_;
}

}  // namespace lacuna
