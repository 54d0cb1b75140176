#pragma once

#include <string>
#include <vector>

#include "runtime/graph/algorithm.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::conformance {

/// An example of a method, served by one of its algorithms.
struct Example {
  const Method* method;
  MethodOptions options;
  const Algorithm* algorithm;
  std::string text;

  /// The call of one rank, without buffers.
  Call call(MethodState& state, std::size_t count = 100) const;
};

/// Each example of a method with each of its algorithms, as far as ranks on these hosts accept a call of so many
/// elements.
std::vector<Example> examples_of_all_collectives(const Method& method, const Hosts& hosts, std::size_t count);
/// Those that are served by an allreduce.
std::vector<Example> examples_of(const Method& method, const Hosts& hosts, std::size_t count = 100);
/// The method with its options as they are by default, served by its allreduces.
std::vector<Example> defaults_of(const Method& method, const Hosts& hosts, std::size_t count);

}  // namespace lacuna::conformance
