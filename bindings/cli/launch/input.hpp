#pragma once

#include <string>

#include "runtime/values/fd.hpp"

namespace lacuna::cli {

/// The standard input of the ranks. Rank 0 has that of the launcher, and all others have an empty one.
///
/// What is no terminal rank 0 reads itself, so that nothing is lost that it does not read. Only the foreground process
/// group may read from a terminal, and rank 0 has a group of its own. So the launcher copies what is typed, to a pipe.
class Input {
 public:
  Input();

  /// Returns the descriptor that is to be the standard input of this rank.
  int of_rank(int rank) const;
  /// Closes what only ranks use, once all ranks have been started.
  void started() { rank_end_.close(); }
  /// Returns the descriptor to poll, or -1. `events` becomes what to poll it for.
  int descriptor(short& events) const;
  /// Copies what has been typed, as far as rank 0 takes it.
  void copy();

 private:
  runtime::Fd empty_;
  runtime::Fd rank_end_, own_end_;  // of the pipe, if there is one
  std::string pending_;             // has been read but not written yet
};

}  // namespace lacuna::cli
