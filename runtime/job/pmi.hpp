#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "runtime/job/deadline.hpp"
#include "runtime/job/fork_guard.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"
#include "runtime/values/unique_id.hpp"

namespace lacuna::runtime {

/// A conversation by PMI-1, the protocol of MPICH's mpiexec (Hydra) and of Slurm: lines of text to and from the
/// launcher, over the descriptor that it has named in PMI_FD. A process has one conversation, which lasts until it
/// ends. Thread rule: any thread may call; they take turns. In a child made by fork() share() refuses.
class Pmi {
 public:
  explicit Pmi(int descriptor) : descriptor_(descriptor) {}
  /// Says goodbye to the launcher, but not in a child made by fork().
  ~Pmi();
  Pmi(const Pmi&) = delete;
  Pmi& operator=(const Pmi&) = delete;

  /// Gives the id of rank 0 to all ranks. It blocks until all of them have called it as often as this one, or until the
  /// deadline. The error is Transport, or TimedOut; no later call works then.
  Status share(Rank rank, UniqueId& id, const Deadline& deadline);

 private:
  Status begin();
  Status meet(Rank rank, const std::string& name, UniqueId& id);
  /// Sends the command with its arguments, and checks that the answer is `answer` and a yes. It becomes `answer_`.
  Status ask(std::string_view command, std::string_view arguments, std::string_view answer);
  Status send(std::string_view text) const;
  Status receive();

  const int descriptor_;
  std::mutex mutex_;
  const Home home_;
  Deadline deadline_ = Clock::time_point();
  std::string received_;  // and not yet read
  std::string answer_;
  std::string space_;  // where the launcher keeps what is put; empty: nothing was said yet
  unsigned shared_ = 0;
  Status broken_;
};

}  // namespace lacuna::runtime
