#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace lacuna {

/// How severe a log line is. The numbers are part of the C API.
enum class LogLevel : int { Error = 0, Warning = 1, Info = 2, Debug = 3 };

inline constexpr std::array all_log_levels = {LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug};

constexpr std::string_view to_string(LogLevel level) {
  constexpr std::array<std::string_view, 4> names = {"error", "warning", "info", "debug"};
  return names[static_cast<std::size_t>(level)];
}

/// The inverse of to_string. Nothing for an unknown name.
constexpr std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (LogLevel level : all_log_levels) {
    if (to_string(level) == name) return level;
  }
  return std::nullopt;
}

/// The part of lacuna that writes a log line. Each subsystem has a level of its own.
enum class Subsystem : int {
  Config,     ///< the environment's variables
  Job,        ///< ranks that join, leave, die; verdicts
  Executor,   ///< calls and communicators
  Transport,  ///< connections and messages
  Trace,      ///< traces and metrics
};

inline constexpr std::array all_subsystems = {Subsystem::Config, Subsystem::Job, Subsystem::Executor,
                                              Subsystem::Transport, Subsystem::Trace};

constexpr std::string_view to_string(Subsystem subsystem) {
  constexpr std::array<std::string_view, all_subsystems.size()> names = {"config", "job", "executor", "transport",
                                                                         "trace"};
  return names[static_cast<std::size_t>(subsystem)];
}

/// The inverse of to_string. Nothing for an unknown name.
constexpr std::optional<Subsystem> parse_subsystem(std::string_view name) {
  for (Subsystem subsystem : all_subsystems) {
    if (to_string(subsystem) == name) return subsystem;
  }
  return std::nullopt;
}

/// Receives the log lines of lacuna in this process. Any thread may call it. `text` begins with the subsystem, as in
/// "job: rank 2 died". It has no line end and is valid only during the call.
using LogCallback = void (*)(LogLevel level, std::string_view text, void* user);

}  // namespace lacuna
