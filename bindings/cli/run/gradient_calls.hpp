#pragma once

#include <string>
#include <vector>

#include "bindings/workload/workload.hpp"

namespace lacuna::cli {

/// Returns the allreduce of a gradient, without data, as a workload makes it. The state must outlive the call.
Call call_of(const MethodChoice& choice, const GradientShape& gradient, MethodState& state);

/// Returns "a, b" for the texts in their order, each once.
std::string each_once(const std::vector<std::string>& texts);

}  // namespace lacuna::cli
