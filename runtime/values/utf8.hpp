#pragma once

#include <string>

namespace lacuna {

/// The text as UTF-8, which every reader can show and decode. Each byte that is not part of a well-formed character of
/// UTF-8 is written like "\\xe9". A text that is UTF-8 already does not change.
std::string escape_other_than_utf8(std::string text);

}  // namespace lacuna
