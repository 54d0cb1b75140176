#include "bindings/cli/run/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "bindings/cli/shared/output.hpp"
#include "runtime/files/regular_file.hpp"

namespace lacuna::cli {
namespace {

using runtime::Fd;

/// Returns nothing, or why the file is not the run's own. A file with another name too would be overwritten under that
/// name.
std::string why_not_own(const Fd& file) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return std::strerror(errno);
  return S_ISREG(info.st_mode) && info.st_nlink > 1 ? "it has another name too" : why_not_regular(info);
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
  if (Status plain = check_regular(path, Links::Refused); !plain) return failed(plain.message());
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.is_open()) return failed(std::strerror(errno));
  if (const std::string why = why_not_own(file); !why.empty()) return failed(why);
  const int refused = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (refused == EWOULDBLOCK) {
    return Status(Code::Io, fmt::format("{} is in use by {}: two runs would replace each other's files; wait for its "
                                        "end, or give this one another output",
                                        folder.string(), holder_of(file)));
  }
  if (refused != 0) {
    write_error("lacuna run: {} cannot be locked ({}): see to it that no other run uses the folder\n", path.string(),
                std::strerror(refused));
  }
  const std::string holder = fmt::format("process {} on {}", ::getpid(), host);
  const bool told = ::ftruncate(file.get(), 0) == 0 && ::pwrite(file.get(), holder.data(), holder.size(), 0) > 0;
  return told ? Result<FolderLock>(FolderLock(path, std::move(file))) : failed(std::strerror(errno));
}

Status FolderLock::check() const {
  struct stat held {
  }, there{};
  const bool same = ::fstat(file_.get(), &held) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
                    held.st_dev == there.st_dev && held.st_ino == there.st_ino;
  if (same) return Status::ok();
  return {Code::Io, fmt::format("{} is not the file that this run has locked: the folder was removed or replaced "
                                "while the run was using it",
                                path_.string())};
}

}  // namespace lacuna::cli
