#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace lacuna::conformance {

/// A property does not hold.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws a Fault with this text unless something holds.
template <class... Values>
void demand(bool holds, fmt::format_string<Values...> text, Values&&... values) {
  if (!holds) throw Fault(fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace lacuna::conformance
