#pragma once

#include <vector>

#include "runtime/method/method.hpp"

namespace lacuna::conformance {

/// Options for one algorithm of a method.
struct CoveringOptions {
  MethodOptions options;
  std::vector<std::size_t> values;  ///< which of its tried values each option has
};

/// Options of a method in which each value of each option is, or every two values of every two options meet
/// (test::default_cover), as far as a call of 4 ranks accepts them by this algorithm and each value has an effect. The
/// values that are tried of an option are its default, its limits, all choices of a choice, and what the method's
/// examples give. The result is kept.
const std::vector<CoveringOptions>& covering_options(const Method& method, const MethodAlgorithm& by);

}  // namespace lacuna::conformance
