#pragma once

#include <string>
#include <string_view>

#include "runtime/values/unique_id.hpp"

/// A unique id as launchers carry it.
namespace lacuna::runtime {

/// The id in hexadecimal digits, two for each byte.
std::string text_of(const UniqueId& id);
/// Reads what text_of() has made. Returns false, and leaves the id, if the text is something else.
bool read_id(std::string_view text, UniqueId& id);

}  // namespace lacuna::runtime
