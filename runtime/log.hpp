#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <utility>

#include "runtime/values/dtype.hpp"
#include "runtime/values/log.hpp"

/// The log of this process. A sink belongs to the process and not to a communicator: lines are written before the first
/// communicator is made and after the last one is gone, so this state is static, unlike everything else in lacuna.
/// All functions may be called from any thread.
namespace lacuna::runtime {

/// Lines above this level are dropped. Until the first line is logged the level is unknown; then it comes from
/// LACUNA_LOG (warning if that is unset or not a level).
void set_log_level(LogLevel level);

/// The rank that lines on standard error carry: "lacuna [rank 3] warning: text".
void set_log_rank(Rank rank);

/// Sends the lines that the level lets through to `callback` instead of standard error; null restores standard error.
/// A call of the previous callback may still be running on another thread when this returns. A callback may log.
void set_log_sink(LogCallback callback, void* user);

namespace detail {

inline constexpr int log_level_unknown = static_cast<int>(LogLevel::Debug) + 1;
inline std::atomic<int> log_threshold = log_level_unknown;

bool log_level_admits(LogLevel level);
void log_line(LogLevel level, std::string_view text);

}  // namespace detail

/// True if a line of this level would be written: one relaxed load.
inline bool log_enabled(LogLevel level) {
  const int threshold = detail::log_threshold.load(std::memory_order_relaxed);
  if (static_cast<int>(level) > threshold) return false;
  return threshold != detail::log_level_unknown || detail::log_level_admits(level);
}

/// Writes one line, formatted by fmt, if its level is let through; else the arguments are not formatted.
template <class... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) detail::log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::Error, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::Warning, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::Info, format, std::forward<Args>(args)...);
}

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::Debug, format, std::forward<Args>(args)...);
}

}  // namespace lacuna::runtime
