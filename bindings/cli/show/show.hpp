#pragma once

#include <string>

#include "bindings/checkpoint/result_file.hpp"

namespace lacuna::cli {

/// Returns all that a result file says as JSON.
std::string results_as_json(const checkpoint::RunResults& results);

/// Returns a CSV table with a line for each evaluation of each method and seed, and a column for each number that any
/// of them has. A number that a method does not have is empty.
std::string results_as_csv(const checkpoint::RunResults& results);

}  // namespace lacuna::cli
