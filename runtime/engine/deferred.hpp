#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/engine/watched.hpp"

namespace lacuna::runtime {

/// What is to be done once an executor's lock is free: reports for the watch, and the callers' memory that is no longer
/// needed. Its owner locks. Only is_empty() needs no lock.
class Deferred {
 public:
  struct All {
    std::vector<std::shared_ptr<const void>> memory;  ///< is let go with this object
    std::vector<Trouble> reports;
  };

  bool is_empty() const { return !any_.load(std::memory_order_relaxed); }
  void add(Trouble report) {
    all_.reports.push_back(std::move(report));
    any_.store(true, std::memory_order_relaxed);
  }
  void add(std::shared_ptr<const void> memory) {
    all_.memory.push_back(std::move(memory));
    any_.store(true, std::memory_order_relaxed);
  }
  All take() {
    any_.store(false, std::memory_order_relaxed);
    return std::exchange(all_, {});
  }
  /// Takes the reports only, for a thread that must not run the destructors of the callers' memory.
  std::vector<Trouble> take_reports() { return std::exchange(all_.reports, {}); }

 private:
  All all_;
  std::atomic<bool> any_{false};
};

}  // namespace lacuna::runtime
