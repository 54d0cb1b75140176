#include "transports/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/values/digest.hpp"
#include "runtime/values/fd.hpp"

namespace lacuna {
namespace {

constexpr std::size_t tried_bytes = 4096;

/// UCX opens the segments of others by /proc.
int try_posix() {
  const runtime::Fd file(::open(posix_folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open() && errno != EOPNOTSUPP && errno != EISDIR) return errno;
  if (!file.is_open()) return ::access(posix_folder.c_str(), W_OK) == 0 ? 0 : errno;  // each file there has a name
  if (const int problem = ::posix_fallocate(file.get(), 0, tried_bytes); problem != 0) return problem;
  const runtime::Fd again(::open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDWR | O_CLOEXEC));
  return again.is_open() ? 0 : errno;
}

int try_sysv() {
  const int segment = ::shmget(IPC_PRIVATE, tried_bytes, IPC_CREAT | S_IRUSR | S_IWUSR);
  if (segment < 0) return errno;
  void* const begin = ::shmat(segment, nullptr, 0);
  const int problem = begin == reinterpret_cast<void*>(-1) ? errno : 0;
  if (problem == 0) ::shmdt(begin);
  ::shmctl(segment, IPC_RMID, nullptr);
  return problem;
}

}  // namespace

SharedMemory SharedMemory::look() {
  SharedMemory memory{.posix_problem = try_posix(), .sysv_problem = try_sysv()};
  struct statvfs folder {};
  if (::statvfs(posix_folder.c_str(), &folder) == 0) {
    memory.free = folder.f_bavail * folder.f_frsize;
    memory.size = folder.f_blocks * folder.f_frsize;
  }
  return memory;
}

std::uint64_t SharedMemory::reach(std::size_t posix_bytes) const {
  const bool posix = has_posix(posix_bytes);
  if (!posix && !has_sysv()) return 0;
  Digest reach;
  reach.add(::geteuid()).add(posix).add(has_sysv());
  for (const std::string& place : {std::string("/proc/self/ns/ipc"), std::string("/proc/self/ns/pid"), posix_folder}) {
    struct stat status {};
    if (::stat(place.c_str(), &status) != 0 && (posix || place != posix_folder)) return 0;
    reach.add(status.st_dev).add(status.st_ino);
  }
  return reach.value() | 1;
}

}  // namespace lacuna
