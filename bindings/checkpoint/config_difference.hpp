#pragma once

#include <string>
#include <string_view>

namespace lacuna::checkpoint {

/// Says for people what changed between two texts, line by line: "-3: was" for a line that only the old text has, "+3:
/// is" for a line that only the new text has. Each line has its number in its own text and a newline at its end.
/// Returns nothing if the texts are equal.
std::string config_difference(std::string_view old_text, std::string_view new_text);

}  // namespace lacuna::checkpoint
