#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace lacuna {

/// The text as a JSON string, with its quotes.
inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

}  // namespace lacuna
