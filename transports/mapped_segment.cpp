#include "transports/mapped_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace lacuna {
namespace {

Status refused(const MappableSegment& segment, std::string_view why) {
  return {Code::Transport,
          fmt::format("descriptor {} of process {} can't be mapped: {}", segment.descriptor, segment.process, why)};
}

/// A descriptor that is closed at the end.
struct File {
  int descriptor = -1;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

}  // namespace

Result<MappedSegment> MappedSegment::map(const MappableSegment& segment) {
  const File file{
      ::open(fmt::format("/proc/{}/fd/{}", segment.process, segment.descriptor).c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.descriptor < 0) return refused(segment, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.descriptor, &status) != 0) return refused(segment, std::strerror(errno));
  const int seals = ::fcntl(file.descriptor, F_GET_SEALS);
  const bool is_meant = status.st_dev == segment.device && status.st_ino == segment.inode &&
                        static_cast<std::uint64_t>(status.st_size) == segment.bytes;
  if (!is_meant || seals < 0 || (seals & F_SEAL_SHRINK) == 0) return refused(segment, "it is another file");
  void* const begin = ::mmap(nullptr, segment.bytes, PROT_READ, MAP_SHARED, file.descriptor, 0);
  if (begin == MAP_FAILED) return refused(segment, std::strerror(errno));
  ::madvise(begin, segment.bytes, MADV_HUGEPAGE);  // where the system allows it for shared memory
  return MappedSegment({static_cast<const std::byte*>(begin), segment.bytes});
}

MappedSegment::MappedSegment(MappedSegment&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedSegment::~MappedSegment() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace lacuna
