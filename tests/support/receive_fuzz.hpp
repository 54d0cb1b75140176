#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lacuna::test {

/// Plays a game that the bytes describe. Two ranks post calls and messages, and what the second rank sends reaches the
/// first one late, reordered and doubled, and in half of the games also with other headers and lengths. The bytes
/// behind the headers are never changed. They are the same wherever a changed header may lead them, so that a right
/// result can be told from a wrong one. Returns an empty text, or says which of these did not hold:
/// - a call that ends well has the right result, and a receive has nothing beyond what it got;
/// - if no header was changed, every call ends well;
/// - after a verdict, no memory of the caller is in use any more.
std::string play_receive_game(std::span<const std::uint8_t> bytes);

}  // namespace lacuna::test
