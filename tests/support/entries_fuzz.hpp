#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/backend.hpp"

namespace lacuna::test {

/// Makes the message that the first bytes describe, changes it as the others say, and hands it to the kernels. Empty,
/// or what did not hold:
/// - a message is refused exactly where the definition of its format does not allow it;
/// - one that is not refused has the entries that the definition finds in it, in order and in range.
/// A sanitizer sees that nothing beyond the message is read, and nothing beyond the index written.
std::string play_entries_game(const kernels::Backend& on, std::span<const std::uint8_t> bytes);

}  // namespace lacuna::test
