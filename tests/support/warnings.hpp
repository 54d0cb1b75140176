#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/observe/log.hpp"

namespace lacuna::test {

/// While it lives, it gets the warnings of this process, in the order in which they come.
class Warnings {
 public:
  Warnings() {
    runtime::set_log_sink(
        [](LogLevel level, std::string_view text, void* user) {
          if (level == LogLevel::Warning) static_cast<Warnings*>(user)->add(text);
        },
        this);
  }
  ~Warnings() { runtime::set_log_sink(nullptr, nullptr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  /// The first warning, or "(none)" if none comes for long.
  std::string first() const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [this] { return !lines_.empty(); });
    return lines_.empty() ? "(none)" : lines_.front();
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(text);
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

}  // namespace lacuna::test
