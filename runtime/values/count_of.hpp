#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace lacuna {

/// A number with what it counts, for texts: "1 element", "2 elements", "0 entries". `noun` is the singular. A plural
/// ends in "ies" in place of "y", in "es" after "s" and "ch", and else in "s".
template <std::integral Number>
std::string count_of(Number number, std::string_view noun) {
  std::string text = std::to_string(number);
  text.append(" ").append(noun);
  if (number == 1) return text;
  if (noun.ends_with('y')) return text.replace(text.size() - 1, 1, "ies");
  return text.append(noun.ends_with('s') || noun.ends_with("ch") ? "es" : "s");
}

}  // namespace lacuna
