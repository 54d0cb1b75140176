#include "runtime/files/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace lacuna {
namespace {

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFLNK:
      return "a link";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "of an unknown kind";
  }
}

Status unreadable(const std::filesystem::path& path, std::string_view why) {
  return {Code::Io, fmt::format("{} cannot be read: {}", path.string(), why)};
}

int look(const std::filesystem::path& path, Links links, struct stat& info) {
  return links == Links::Followed ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info);
}

}  // namespace

std::string why_not_regular(const struct stat& info) {
  return S_ISREG(info.st_mode) ? std::string() : fmt::format("it is {}, not a regular file", kind_of(info.st_mode));
}

Status check_regular(const std::filesystem::path& path, Links links) {
  struct stat info {};
  if (look(path, links, info) != 0) return errno == ENOENT ? Status() : unreadable(path, std::strerror(errno));
  const std::string why = why_not_regular(info);
  return why.empty() ? Status() : Status(Code::Io, fmt::format("{}: {}", path.string(), why));
}

Result<runtime::Fd> open_regular(const std::filesystem::path& path, Links links) {
  // Opening a device may have effects, so it is looked at before. It may change meanwhile, so it is looked at again.
  struct stat info {};
  if (look(path, links, info) != 0) return unreadable(path, std::strerror(errno));
  if (const std::string why = why_not_regular(info); !why.empty()) return unreadable(path, why);
  const int follow = links == Links::Followed ? 0 : O_NOFOLLOW;
  runtime::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | follow));
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return unreadable(path, std::strerror(errno));
  if (const std::string why = why_not_regular(info); !why.empty()) return unreadable(path, why);
  return file;
}

Result<std::string> read_regular(const std::filesystem::path& path, Links links) {
  const Result<runtime::Fd> file = open_regular(path, links);
  if (!file) return file.status();
  std::string text;
  std::array<char, 1 << 16> piece;
  while (true) {
    const ssize_t bytes = ::read(file->get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return unreadable(path, std::strerror(errno));
    if (bytes == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace lacuna
