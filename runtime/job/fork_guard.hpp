#pragma once

#include <sys/types.h>

#include <functional>

#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Remembers the process that made it. A job belongs to that process, and not to a child made by fork(): there the
/// threads are missing, locks may be held, and the connections are those of the parent.
class Home {
 public:
  Home();
  /// Is this the process that made it? The question is cheap.
  bool is_here() const { return forks_ == forks; }
  /// Returns ok, or why a call is refused in this process.
  Status check() const { return is_here() ? Status() : refusal(); }

 private:
  friend struct ForkHandlers;

  Status refusal() const;

  static unsigned forks;  // number of forks from the first process that made a Home to this one

  unsigned forks_;
  pid_t process_;
};

/// Calls `let_go` at once in every child that fork() makes, so that the child does not hold what belongs to its parent.
/// Nothing else runs in the child at that time. So `let_go` may only close descriptors.
class AtFork {
 public:
  explicit AtFork(std::function<void()> let_go);
  ~AtFork();
  AtFork(const AtFork&) = delete;
  AtFork& operator=(const AtFork&) = delete;

 private:
  friend struct ForkHandlers;

  Home home_;
  std::function<void()> let_go_;
};

}  // namespace lacuna::runtime
