#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/backend.hpp"

namespace lacuna::test {

/// Makes the message that the first bytes describe, changes it as the other bytes say, and hands it to the kernels.
/// Returns an empty text, or says which of these did not hold:
/// - a message is refused exactly if the definition of its format does not allow it;
/// - a message that is not refused has the entries that the definition finds in it, in order and within its length.
/// A sanitizer checks that nothing beyond the message is read, and nothing beyond the index is written.
std::string play_entries_game(const kernels::Backend& on, std::span<const std::uint8_t> bytes);

}  // namespace lacuna::test
