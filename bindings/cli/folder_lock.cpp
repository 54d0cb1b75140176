#include "bindings/cli/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace lacuna::cli {
namespace {

using runtime::Fd;

/// A file of our own: one that another name leads to too would be overwritten under that name.
bool is_plain(const Fd& file) {
  struct stat info {};
  return ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
}

std::string holder_of(const Fd& file) {
  std::array<char, 512> text{};
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "another process";
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder, std::string_view host) {
  const std::filesystem::path path = folder / "lacuna.lock";
  const auto failed = [&](std::string_view why) {
    return Status(Code::Io, fmt::format("{} cannot be locked: {}", path.string(), why));
  };
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.is_open()) return failed(std::strerror(errno));
  if (!is_plain(file)) return failed("it is no regular file, or has another name too");
  const int refused = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (refused == EWOULDBLOCK) {
    return Status(Code::Io, fmt::format("{} is in use by {}: two runs would replace each other's files; wait for its "
                                        "end, or give this one another output",
                                        folder.string(), holder_of(file)));
  }
  if (refused != 0) {
    fmt::print(stderr, "lacuna run: {} cannot be locked ({}): see to it that no other run uses the folder\n",
               path.string(), std::strerror(refused));
  }
  const std::string holder = fmt::format("process {} on {}", ::getpid(), host);
  const bool told = ::ftruncate(file.get(), 0) == 0 && ::pwrite(file.get(), holder.data(), holder.size(), 0) > 0;
  return told ? Result<FolderLock>(FolderLock(std::move(file))) : failed(std::strerror(errno));
}

}  // namespace lacuna::cli
