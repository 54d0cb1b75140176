#pragma once

#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/fd.hpp"

namespace lacuna::cli {

/// Tells the order in which processes end, however late one looks, because the kernel puts each into a queue at its
/// end.
class Deaths {
 public:
  Deaths();

  /// `pidfd` stays open until the process has been reaped. It may be -1.
  void watch(Rank rank, int pidfd);
  /// Returns the ranks that have ended since the last call, in the order of their ends. After them come the ranks whose
  /// `pidfd` was -1, ended or not.
  std::vector<Rank> take();

 private:
  runtime::Fd queue_;
  std::vector<Rank> unwatched_;
};

}  // namespace lacuna::cli
