#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lacuna::test {

/// Plays a game that the bytes describe: two ranks post calls and messages, and what the second sends reaches the first
/// held back, reordered and doubled; in half of the games also with other headers and lengths. Bytes that are sent are
/// never changed, and are alike wherever a changed header may lead them: a right result is told from a wrong one.
/// Empty, or what did not hold:
/// - a call that ends well has the right result, and a receive nothing beyond what it got;
/// - where no header was changed, every call ends well;
/// - after a verdict no memory of the caller's is in use any more.
std::string play_receive_game(std::span<const std::uint8_t> bytes);

}  // namespace lacuna::test
