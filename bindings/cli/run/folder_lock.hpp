#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/files/fd.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// A folder that one run at a time works in. The lock is the kernel's, on the folder's file "lacuna.lock": it ends with
/// this object or its process, however that ends. The file says who holds it, and stays.
class FolderLock {
 public:
  /// Holds nothing.
  FolderLock() = default;

  /// Locks a folder that exists for this process; `host` is what others are told beside its number. Io with the
  /// holder's host and process if another has it. Where the file system has no locks it says so on standard error and
  /// goes on.
  static Result<FolderLock> take(const std::filesystem::path& folder, std::string_view host);

  /// Of a lock that is held: Io if its file is no longer in the folder, because somebody has removed or replaced it.
  Status check() const;

 private:
  FolderLock(std::filesystem::path path, runtime::Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  runtime::Fd file_;
};

}  // namespace lacuna::cli
