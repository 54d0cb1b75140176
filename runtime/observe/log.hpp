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

/// The log of this process. A sink belongs to the process and not to a communicator: lines are written before the first
/// communicator is made and after the last one is gone, so this state is static, unlike everything else in lacuna.
/// All functions may be called from any thread.
///
/// A callback of the program may wait for a lock that another thread of the program holds, and that thread may wait for
/// lacuna. So a callback never runs while a lock of lacuna is held (LogHold), and it runs on no thread on which others
/// depend: what the library's own threads log is written by one that does nothing else.
namespace lacuna::runtime {

/// Lines above their subsystem's level are dropped. Until the first line is logged the levels are unknown; then they
/// come from LACUNA_LOG (warning if that is unset or not allowed).
void set_log_levels(const LogLevels& levels);

/// The rank that lines on standard error carry: "lacuna [rank 3] warning: job: text".
void set_log_rank(Rank rank);

/// Sends the lines that the level lets through to `callback` instead of standard error; null restores standard error.
/// A call of the previous callback may still be running on another thread when this returns. A callback may log.
void set_log_sink(LogCallback callback, void* user);

/// Waits until what the library's own threads have logged is written, for a second at most: a callback may be waiting
/// for the caller. False if something is not written yet.
bool finish_log_lines(std::chrono::milliseconds longest = std::chrono::seconds(1));

namespace detail {

/// What the calling thread must not write yet.
struct HeldLines {
  int holds = 0;  ///< LogHolds that stand
  bool any = false;
};
[[gnu::tls_model("initial-exec")]] inline constinit thread_local HeldLines held_lines;  // each call looks at it often

void write_held_lines();

inline constexpr int log_level_unknown = static_cast<int>(LogLevel::Debug) + 1;

struct LogThreshold {
  std::atomic<int> level = log_level_unknown;
};
inline std::array<LogThreshold, all_subsystems.size()> log_thresholds;

bool log_level_admits(Subsystem subsystem, LogLevel level);
void log_line(Subsystem subsystem, LogLevel level, std::string_view text);
/// Writes an error to standard error if a callback takes the lines.
void repeat_on_standard_error(Subsystem subsystem, std::string_view text);

}  // namespace detail

/// While it stands, the lines that its thread logs are kept. When the thread's last one goes they are written, in the
/// order in which they were logged. Whoever takes a lock that a callback might wait for declares one before it.
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

/// True if a line of this level would be written: one relaxed load.
inline bool log_enabled(Subsystem subsystem, LogLevel level) {
  const int threshold =
      detail::log_thresholds[static_cast<std::size_t>(subsystem)].level.load(std::memory_order_relaxed);
  if (static_cast<int>(level) > threshold) return false;
  return threshold != detail::log_level_unknown || detail::log_level_admits(subsystem, level);
}

/// Writes one line, formatted by fmt, if its level is let through; else the arguments are not formatted.
template <class... Args>
void log_at(Subsystem subsystem, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(subsystem, level)) return;
  detail::log_line(subsystem, level, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_error(Subsystem subsystem, fmt::format_string<Args...> format, Args&&... args) {
  log_at(subsystem, LogLevel::Error, format, std::forward<Args>(args)...);
}

/// An error that nothing else will tell, as all calls have ended well: it stands on standard error also where a
/// callback takes the lines, for whoever started the program.
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
