#pragma once

#include <cstdint>
#include <string>

#include "runtime/values/exchange.hpp"

/// Tags as they travel. Those of messages have 31 bits. The messages of a neighbour exchange have the highest bit, then
/// their direction, then the tag of the exchange.
namespace lacuna::runtime {

inline constexpr std::uint32_t exchange_bit = std::uint32_t{1} << 31;

inline bool is_of_exchange(std::uint32_t tag) { return (tag & exchange_bit) != 0; }
inline std::uint32_t tag_of_exchange(int tag, int direction) {
  return exchange_bit | static_cast<std::uint32_t>(direction) << 16 | static_cast<std::uint32_t>(tag);
}

/// Returns a text such as "tag 5", for errors.
std::string text_of_tag(std::uint32_t tag);

}  // namespace lacuna::runtime
