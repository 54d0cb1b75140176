#pragma once

#include <filesystem>

#include "runtime/values/fd.hpp"

namespace lacuna::cli {

/// A folder in which the ranks of one launch make their segments of POSIX shared memory (UCX_POSIX_DIR). UCX removes a
/// segment's name as soon as it has made the segment. A rank that is killed before that leaves the file, whose memory
/// is not free then. This object removes what remains when it ends. If the launcher itself was killed, the next
/// launcher removes its folder when it makes its own. It can tell, because a launcher that lives holds a lock on its
/// folder. Nothing else is removed.
class SegmentFolder {
 public:
  /// Makes the folder in `where`, for this user alone, and removes the folders there that this user's dead launchers
  /// have left.
  explicit SegmentFolder(const std::filesystem::path& where);
  SegmentFolder(const SegmentFolder&) = delete;
  SegmentFolder& operator=(const SegmentFolder&) = delete;
  /// Removes the folder. No rank may still be starting.
  ~SegmentFolder();

  /// Returns an empty path if no folder could be made.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  runtime::Fd lock_;
};

}  // namespace lacuna::cli
