#pragma once

#include <string>
#include <string_view>

namespace lacuna::checkpoint {

/// What changed between two texts, line by line, for people: "-3: was" for a line that only the old text has and
/// "+3: is" for one that only the new text has, each with its number in its own text, in order, ended by a newline.
/// Empty if the texts are equal.
std::string config_difference(std::string_view old_text, std::string_view new_text);

}  // namespace lacuna::checkpoint
