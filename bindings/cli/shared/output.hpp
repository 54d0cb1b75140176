#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

// All that the command prints goes through here. Nothing is thrown if it can't be written, because the terminal has
// closed or the disk is full.
namespace lacuna::cli {

enum class Stream : std::uint8_t { Output, Errors };

/// Writes a text to a standard stream. What standard output does not take is lost, and exit_code_of() tells it.
void write(Stream stream, std::string_view text);
/// Formats a text, and writes it to standard output.
template <class... Parts>
void write_out(fmt::format_string<Parts...> format, Parts&&... parts) {
  write(Stream::Output, fmt::format(format, std::forward<Parts>(parts)...));
}
/// The same for standard error.
template <class... Parts>
void write_error(fmt::format_string<Parts...> format, Parts&&... parts) {
  write(Stream::Errors, fmt::format(format, std::forward<Parts>(parts)...));
}
/// Hands on what was written to standard output. Returns false if some of it is lost, now or before.
bool flush_output();
/// Returns the exit code of a command that would return `exit_code`: 1 in place of 0 if standard output has not taken
/// everything. Then it says why on standard error.
int exit_code_of(int exit_code);

}  // namespace lacuna::cli
