#pragma once

#include "runtime/method/method.hpp"

namespace lacuna::cli {

/// The next functions print what `lacuna list` shows, as text or as JSON.
void list_all(bool json);
void list_method(const Method& method, bool json);

}  // namespace lacuna::cli
