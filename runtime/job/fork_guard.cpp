#include "runtime/job/fork_guard.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>

namespace lacuna::runtime {

unsigned Home::forks = 0;

/// The AtFork objects of this process, and the functions that the system calls when it forks.
struct ForkHandlers {
  ForkHandlers() { ::pthread_atfork(before, in_parent, in_child); }

  /// The one object. It is never destroyed, because statics may need it while they are destroyed.
  static ForkHandlers& only() {
    static auto& handlers = *new ForkHandlers;
    return handlers;
  }
  static void before() { only().mutex.lock(); }
  static void in_parent() { only().mutex.unlock(); }
  static void in_child() {
    for (const AtFork* one : only().all) {
      if (one->home_.is_here()) one->let_go_();
    }
    ++Home::forks;
    only().mutex.unlock();
  }

  std::mutex mutex;  // held during a fork
  std::vector<const AtFork*> all;
};

Home::Home() : forks_((ForkHandlers::only(), forks)), process_(::getpid()) {}

Status Home::refusal() const {
  return {Code::InvalidArgument,
          fmt::format("this rank is process {}; process {}, made from it by fork(), can neither call lacuna in its "
                      "place nor end its calls",
                      process_, ::getpid())};
}

AtFork::AtFork(std::function<void()> let_go) : let_go_(std::move(let_go)) {
  const std::lock_guard lock(ForkHandlers::only().mutex);
  ForkHandlers::only().all.push_back(this);
}

AtFork::~AtFork() {
  const std::lock_guard lock(ForkHandlers::only().mutex);
  std::erase(ForkHandlers::only().all, this);
}

}  // namespace lacuna::runtime
