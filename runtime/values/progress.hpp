#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lacuna {

/// Who moves the messages: the caller inside test(), wait() and progress(), or a thread of lacuna.
enum class Progress : std::uint8_t { Caller = 0, Thread = 1 };

constexpr std::string_view to_string(Progress progress) { return progress == Progress::Caller ? "caller" : "thread"; }

/// The inverse of to_string. Nothing for an unknown name.
constexpr std::optional<Progress> parse_progress(std::string_view name) {
  for (Progress progress : std::array{Progress::Caller, Progress::Thread}) {
    if (to_string(progress) == name) return progress;
  }
  return std::nullopt;
}

}  // namespace lacuna
