#pragma once

#include <string>

namespace lacuna {

/// The text with "\\xe9" in the place of each byte that is not part of a well-formed UTF-8 character, so that whoever
/// shows or decodes it can. A text that is UTF-8 stays as it is.
std::string escape_other_than_utf8(std::string text);

}  // namespace lacuna
