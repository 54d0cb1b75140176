// A library that records what a process does to replace files. It writes to the file that LACUNA_TEST_RECORD names: a
// line for each file that is made, synced, renamed or removed, with the size that the kernel knows at that time.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace {

long long size_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? static_cast<long long>(info.st_size) : -1;
}

void record(const char* what, const char* first, const char* second, long long number) {
  const char* to = ::getenv("LACUNA_TEST_RECORD");
  const int file = to ? static_cast<int>(::syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND, 0600)) : -1;
  if (file < 0) return;
  std::array<char, 4096> line{};
  const int length = ::snprintf(line.data(), line.size(), "%s\t%s\t%s\t%lld\n", what, first, second, number);
  if (::write(file, line.data(), static_cast<size_t>(length)) < 0) ::abort();
  ::close(file);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if ((flags & O_CREAT) != 0) record("make", path, (flags & O_EXCL) && (flags & O_NOFOLLOW) ? "safely" : "", fd);
  return fd;
}

int fsync(int fd) {
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  ::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  if (::readlink(link.data(), path.data(), path.size() - 1) > 0) record("sync", path.data(), "", size_of(fd));
  return next<int (*)(int)>("fsync")(fd);
}

int rename(const char* from, const char* to) noexcept {
  struct stat info {};
  const long long size = ::stat(from, &info) == 0 ? static_cast<long long>(info.st_size) : -1;
  record("rename", from, to, size);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char* path) noexcept {
  record("remove", path, "", 0);
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"
