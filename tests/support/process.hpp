#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/job/socket.hpp"

namespace lacuna::test {

/// A forked process that runs a function and sends lines to the test. If it still runs, the destructor kills it.
class Process {
 public:
  using Say = std::function<void(const std::string& line)>;

  explicit Process(const std::function<void(const Say& say)>& body);
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), ended_with_(other.ended_with_), from_(std::move(other.from_)) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process& operator=(Process&&) = delete;
  ~Process();

  /// It is -1 once wait() has returned.
  pid_t pid() const { return pid_; }
  /// Does nothing once wait() has returned.
  void signal(int number) const;
  /// The next line from the process, or "(nothing)" if none comes in time or if the process has ended.
  std::string line(std::chrono::milliseconds within = std::chrono::seconds(60));
  /// Waits until the process ends. Returns its exit code, or 128 + the signal that killed it, each time.
  int wait();

 private:
  pid_t pid_ = -1;
  int ended_with_ = -1;
  runtime::Fd from_;
  std::string pending_;
};

/// A port of 127.0.0.1 that no other process gets while this object lives.
class ReservedPort {
 public:
  ReservedPort();
  std::uint16_t number() const { return number_; }
  /// A text such as "127.0.0.1:4242".
  std::string store() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  runtime::Fd holder_;
  std::uint16_t number_ = 0;
};

}  // namespace lacuna::test
