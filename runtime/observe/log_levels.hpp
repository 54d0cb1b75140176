#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/values/log.hpp"

namespace lacuna::runtime {

/// The level of each subsystem, by Subsystem.
class LogLevels {
 public:
  LogLevels(LogLevel everywhere = LogLevel::Warning) { levels_.fill(everywhere); }

  LogLevel of(Subsystem subsystem) const { return levels_[static_cast<std::size_t>(subsystem)]; }
  void set(Subsystem subsystem, LogLevel level) { levels_[static_cast<std::size_t>(subsystem)] = level; }

  /// "info", "transport=debug", "info,transport=debug,job=error": a level for all and those of single subsystems, each
  /// at most once, in any order. Nothing for any other text.
  static std::optional<LogLevels> parse(std::string_view text);
  /// What is wrong with a text that parse() does not take, with the name that was probably meant: "; there is no
  /// subsystem \"jobs\", did you mean \"job\"?"
  static std::string explain(std::string_view text);
  /// What parse() reads back.
  std::string to_string() const;

  friend bool operator==(const LogLevels&, const LogLevels&) = default;

 private:
  std::array<LogLevel, all_subsystems.size()> levels_{};
};

}  // namespace lacuna::runtime
