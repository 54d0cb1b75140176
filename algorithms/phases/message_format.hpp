#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/values/option.hpp"

namespace lacuna {

/// In which format sparse methods write entries into messages: in the shortest for each message, or always in this one.
enum class MessageFormat : std::uint8_t { Shortest = 0, Coordinates = 1, Local16 = 2, Bitmap = 3, Dense = 4 };
inline constexpr std::string_view message_format_names[] = {"shortest", "coordinates", "local16", "bitmap", "dense"};
template <>
inline constexpr std::span<const std::string_view> names_of<MessageFormat>{message_format_names};

}  // namespace lacuna
