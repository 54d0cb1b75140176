#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/values/fd.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// A folder in which one run at a time works. The kernel holds the lock, on the folder's file "lacuna.lock". The lock
/// ends with this object or with its process, however that ends. The file says who holds the lock, and stays.
class FolderLock {
 public:
  /// Makes an object that holds nothing.
  FolderLock() = default;

  /// Locks a folder that exists for this process. `host` is what others are told beside the process's number. If
  /// another process has the lock, the error is Io with that process and its host. If the file system has no locks, it
  /// says so on standard error and goes on.
  static Result<FolderLock> take(const std::filesystem::path& folder, std::string_view host);

  /// Checks a lock that is held. It is Io if the lock's file is no longer in the folder, because somebody has removed
  /// or replaced it.
  Status check() const;

 private:
  FolderLock(std::filesystem::path path, runtime::Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  runtime::Fd file_;
};

}  // namespace lacuna::cli
