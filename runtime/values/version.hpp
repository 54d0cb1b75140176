#pragma once

#include <string_view>

namespace lacuna {

/// The version of the library, such as "0.1.0".
std::string_view version();

}  // namespace lacuna
