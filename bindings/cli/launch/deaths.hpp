#pragma once

#include <vector>

#include "runtime/files/fd.hpp"
#include "runtime/values/dtype.hpp"

namespace lacuna::cli {

/// The order in which processes end, however late one looks: the kernel puts each into a queue at its end.
class Deaths {
 public:
  Deaths();

  /// `pidfd` is open until the process has been reaped, or -1.
  void watch(Rank rank, int pidfd);
  /// The ranks that have ended since the last call, first the one that ended first; then those that watch() could not
  /// watch, ended or not.
  std::vector<Rank> take();

 private:
  runtime::Fd queue_;
  std::vector<Rank> unwatched_;
};

}  // namespace lacuna::cli
