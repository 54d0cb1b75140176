#pragma once

#include <sys/types.h>

#include <functional>

#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Remembers the process that made it: what a job consists of is that process's, and not that of a child that fork()
/// copies from it, where its threads are missing, its locks may be held, and its connections are the parent's.
class Home {
 public:
  Home();
  /// Cheap.
  bool is_here() const { return forks_ == forks; }
  /// Ok, or why a call is refused in this process.
  Status check() const { return is_here() ? Status() : refusal(); }

 private:
  friend struct ForkHandlers;

  Status refusal() const;

  static unsigned forks;  // between the first process that made a Home and this one

  unsigned forks_;
  pid_t process_;
};

/// What every child that fork() makes lets go of at once, so that it does not hold it after its parent. `let_go` may be
/// called in a child of the process that made this, in which nothing else runs: it may close descriptors, not more.
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
