#include "runtime/values/utf8.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace lacuna {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u; }

/// The number of bytes of the character that the text begins with, or 0 if it begins with none (Unicode 15, table 3-7).
std::size_t length_of_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  if (text.size() < 2 || !continues(text[1])) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (text.size() < 3 || !continues(text[2])) return 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool is_too_long = first == 0xe0 && second < 0xa0, is_surrogate = first == 0xed && second > 0x9f;
    return is_too_long || is_surrogate ? 0 : 3;
  }
  if (text.size() < 4 || !continues(text[3])) return 0;
  const bool is_in_range =
      (first > 0xf0 && first < 0xf4) || (first == 0xf0 && second >= 0x90) || (first == 0xf4 && second <= 0x8f);
  return is_in_range ? 4 : 0;
}

}  // namespace

std::string escape_other_than_utf8(std::string text) {
  std::string escaped;
  std::size_t kept = 0;  // so many bytes of the text stand in `escaped` already
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(std::string_view(text).substr(at));
    if (length > 0) {
      at += length;
      continue;
    }
    escaped.append(text, kept, at - kept);
    escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    kept = ++at;
  }
  if (kept == 0) return text;
  return escaped.append(text, kept);
}

}  // namespace lacuna
