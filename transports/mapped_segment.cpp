#include "transports/mapped_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/values/fd.hpp"

namespace lacuna {
namespace {

Status refused(const MappableSegment& segment, std::string_view why) {
  return {Code::Transport,
          fmt::format("descriptor {} of process {} can't be mapped: {}", segment.descriptor, segment.process, why)};
}

}  // namespace

Result<MappedSegment> MappedSegment::map(const MappableSegment& segment, Use use) {
  const runtime::Fd file(::open(fmt::format("/proc/{}/fd/{}", segment.process, segment.descriptor).c_str(),
                                (use == Use::Writing ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (!file.is_open()) return refused(segment, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return refused(segment, std::strerror(errno));
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  const bool is_meant = status.st_dev == segment.device && status.st_ino == segment.inode &&
                        static_cast<std::uint64_t>(status.st_size) == segment.bytes;
  if (!is_meant || seals < 0 || (seals & F_SEAL_SHRINK) == 0) return refused(segment, "it is another file");
  const int protection = use == Use::Writing ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const begin = ::mmap(nullptr, segment.bytes, protection, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) return refused(segment, std::strerror(errno));
  ::madvise(begin, segment.bytes, MADV_HUGEPAGE);  // where the system allows it for shared memory
  return MappedSegment({static_cast<std::byte*>(begin), segment.bytes});
}

MappedSegment::MappedSegment(MappedSegment&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedSegment::~MappedSegment() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Status memory_can_be_mapped() {
  MappableHeap heap;
  std::byte* const memory = heap.take(1);
  const auto place = heap.find({memory, 1});
  const auto segment = place ? heap.segment(place->segment) : MappableSegment();
  heap.give_back(memory, 1);
  if (!place) return {Code::Unsupported, "the system gives no memory that other processes can map"};
  int ends[2];
  const pid_t child = ::pipe2(ends, O_CLOEXEC) == 0 ? ::fork() : -1;
  if (child < 0) return {Code::Internal, fmt::format("no process could be made to find out: {}", std::strerror(errno))};
  if (child == 0) {
    const std::string why(MappedSegment::map(segment).status().message());
    static_cast<void>(!::write(ends[1], why.data(), why.size()));
    ::_exit(0);
  }
  ::close(ends[1]);
  char why[256];
  const ssize_t length = ::read(ends[0], why, sizeof why);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return length > 0 ? Status(Code::Unsupported, std::string(why, static_cast<std::size_t>(length))) : Status();
}

}  // namespace lacuna
