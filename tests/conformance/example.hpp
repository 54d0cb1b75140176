#pragma once

#include <string>
#include <vector>

#include "runtime/graph/algorithm.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::conformance {

/// An example of a method, served by one of its allreduces.
struct Example {
  const Method* method;
  MethodOptions options;
  const Algorithm* algorithm;
  std::string text;

  /// The call of one rank, without buffers.
  Call call(MethodState& state, std::size_t count = 100) const;
};

/// Each example of a method with each of its allreduces, as far as so many ranks accept a call of so many elements.
std::vector<Example> examples_of(const Method& method, Rank size, std::size_t count = 100);

}  // namespace lacuna::conformance
