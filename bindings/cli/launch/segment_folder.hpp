#pragma once

#include <filesystem>

#include "runtime/files/fd.hpp"

namespace lacuna::cli {

/// A folder in which the ranks of one launch make their segments of POSIX shared memory (UCX_POSIX_DIR). UCX takes a
/// segment's name away as soon as the segment is made; a rank that is killed before leaves the file, and its memory is
/// not free. What has remained goes with this object. What a launcher has left that was killed itself goes when the
/// next one makes its folder: a launcher that lives holds a lock on its own. Nothing else is touched.
class SegmentFolder {
 public:
  /// Makes it in `where`, for this user alone, and removes those there that this user's dead launchers have left.
  explicit SegmentFolder(const std::filesystem::path& where);
  SegmentFolder(const SegmentFolder&) = delete;
  SegmentFolder& operator=(const SegmentFolder&) = delete;
  /// Removes it. No rank may be left that is still starting.
  ~SegmentFolder();

  /// Empty where no folder could be made.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  runtime::Fd lock_;
};

}  // namespace lacuna::cli
