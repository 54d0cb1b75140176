#pragma once

#include <string_view>

#include "runtime/method/method.hpp"

namespace lacuna {

/// Makes options of this method from text such as "steps=2,mode=random".
Result<MethodOptions> options_of(const Method& method, std::string_view text);

}  // namespace lacuna
