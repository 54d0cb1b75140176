#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/values/log.hpp"

namespace lacuna::runtime {

/// The level of each subsystem.
class LogLevels {
 public:
  LogLevels(LogLevel everywhere = LogLevel::Warning) { levels_.fill(everywhere); }

  LogLevel of(Subsystem subsystem) const { return levels_[static_cast<std::size_t>(subsystem)]; }
  void set(Subsystem subsystem, LogLevel level) { levels_[static_cast<std::size_t>(subsystem)] = level; }

  /// Reads a level for all subsystems and levels of single ones, each at most once and in any order, such as "info",
  /// "transport=debug" or "info,transport=debug,job=error". Nothing for any other text.
  static std::optional<LogLevels> parse(std::string_view text);
  /// Says what is wrong with a text that parse() does not accept, and which name was probably meant: "; there is no
  /// subsystem \"jobs\", did you mean \"job\"?"
  static std::string explain(std::string_view text);
  /// A text that parse() reads back.
  std::string to_string() const;

  friend bool operator==(const LogLevels&, const LogLevels&) = default;

 private:
  std::array<LogLevel, all_subsystems.size()> levels_{};
};

}  // namespace lacuna::runtime
