#include "runtime/job/id_text.hpp"

#include <charconv>
#include <cstdint>

namespace lacuna::runtime {

std::string text_of(const UniqueId& id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : id.bytes) {
    text += digits[std::to_integer<unsigned>(byte >> 4)];
    text += digits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return text;
}

bool read_id(std::string_view text, UniqueId& id) {
  UniqueId read;
  if (text.size() != 2 * read.bytes.size()) return false;
  for (std::byte& byte : read.bytes) {
    std::uint8_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + 2, value, 16);
    if (error != std::errc() || stop != text.data() + 2) return false;
    byte = std::byte{value};
    text.remove_prefix(2);
  }
  id = read;
  return true;
}

}  // namespace lacuna::runtime
