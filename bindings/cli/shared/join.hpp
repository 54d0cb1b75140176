#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace lacuna::cli {

/// Returns the items as text, with the separator between them.
template <class Range>
std::string joined(const Range& items, std::string_view separator) {
  std::string text;
  for (const auto& item : items) {
    if (&item != &*std::begin(items)) text += separator;
    text += fmt::to_string(item);
  }
  return text;
}

}  // namespace lacuna::cli
