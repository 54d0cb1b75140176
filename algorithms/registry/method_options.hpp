#pragma once

#include <string_view>

#include "runtime/values/method_options.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Makes a method with options from text: "skip", "skip:steps=2,mode=random". It needs no header of the method. An
/// error names what was given, and what is allowed or nearest.
Result<MethodOptions> method_options(std::string_view text);

}  // namespace lacuna
