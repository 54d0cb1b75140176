#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/observe/log_levels.hpp"
#include "runtime/values/dtype.hpp"

/// The log of this process. Lines are written before the first communicator is made and after the last one is gone. So
/// the state of the log is static, unlike everything else in lacuna. Thread rule: any thread may call all functions.
///
/// A callback of the program may wait for a lock that another thread of the program holds, and that thread may wait for
/// lacuna. So a callback never runs while a lock of lacuna is held (LogHold), and it runs on no thread for which others
/// wait. A thread that does nothing else writes what the library's own threads log.
namespace lacuna::runtime {

/// Sets the level of each subsystem. Lines above the level of their subsystem are dropped. If nobody sets the levels,
/// the first line that is logged reads them from LACUNA_LOG. They are `warning` if that is unset or not allowed.
void set_log_levels(const LogLevels& levels);

/// Sets the rank that lines on standard error show, as in "lacuna [rank 3] warning: job: text".
void set_log_rank(Rank rank);

/// From now on, `callback` gets the lines instead of standard error. Null restores standard error. When this returns, a
/// call of the previous callback may still be running on another thread. A callback may log.
void set_log_sink(LogCallback callback, void* user);

/// Waits until the lines that the library's own threads have logged are written, or for `longest`, because a callback
/// may be waiting for the caller. Returns false if some are not written yet.
bool finish_log_lines(std::chrono::milliseconds longest = std::chrono::seconds(1));

namespace detail {

/// Says whether the calling thread must not write its lines yet.
struct HeldLines {
  int holds = 0;     ///< number of LogHolds of the thread
  bool any = false;  ///< has it logged lines that are not written yet?
};
[[gnu::tls_model("initial-exec")]] inline constinit thread_local HeldLines held_lines;  // calls read it often

void write_held_lines();

inline constexpr int log_level_unknown = static_cast<int>(LogLevel::Debug) + 1;

struct LogThreshold {
  std::atomic<int> level = log_level_unknown;
};
inline std::array<LogThreshold, all_subsystems.size()> log_thresholds;

bool log_level_admits(Subsystem subsystem, LogLevel level);
void log_line(Subsystem subsystem, LogLevel level, std::string_view text);
/// Writes an error to standard error if a callback gets the lines.
void repeat_on_standard_error(Subsystem subsystem, std::string_view text);

}  // namespace detail

/// While it lives, the lines that its thread logs are held back. They are written in order when the thread's last
/// LogHold is destroyed. Code that takes a lock for which a callback might wait must declare one before the lock.
class LogHold {
 public:
  LogHold() { ++detail::held_lines.holds; }
  ~LogHold() {
    detail::HeldLines& held = detail::held_lines;
    if (--held.holds == 0 && held.any) detail::write_held_lines();
  }
  LogHold(const LogHold&) = delete;
  LogHold& operator=(const LogHold&) = delete;
};

/// Would a line of this level be written? The question costs one relaxed load.
inline bool log_enabled(Subsystem subsystem, LogLevel level) {
  const int threshold =
      detail::log_thresholds[static_cast<std::size_t>(subsystem)].level.load(std::memory_order_relaxed);
  if (static_cast<int>(level) > threshold) return false;
  return threshold != detail::log_level_unknown || detail::log_level_admits(subsystem, level);
}

/// Writes one line, formatted by fmt, if log_enabled(). If not, the arguments are not formatted.
template <class... Args>
void log_at(Subsystem subsystem, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(subsystem, level)) return;
  detail::log_line(subsystem, level, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_error(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  log_at(subsystem, LogLevel::Error, format, std::forward<Args>(args)...);
}

/// Writes an error that no call reports, because all calls have ended without an error. It is also written to standard
/// error if a callback gets the lines, so that whoever started the program sees it.
template <class... Args>
void log_last_error(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(subsystem, LogLevel::Error)) return;
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  detail::log_line(subsystem, LogLevel::Error, text);
  detail::repeat_on_standard_error(subsystem, text);
}

template <class... Args>
void log_warning(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  log_at(subsystem, LogLevel::Warning, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_info(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  log_at(subsystem, LogLevel::Info, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_debug(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  log_at(subsystem, LogLevel::Debug, format, std::forward<Args>(args)...);
}

}  // namespace lacuna::runtime
