#pragma once

#include <string>

#include "bindings/checkpoint/result_file.hpp"

namespace lacuna::cli {

/// Returns the table at the end of a run, with a line for each method that has finished with any seed, compared with
/// the first dense one. With several seeds it has means and deviations.
std::string table_of(const checkpoint::RunResults& results);

/// Returns what each method would take at some link rates, from what it computed and from the bytes that it sent.
std::string prediction_of(const checkpoint::RunResults& results);

/// Does a number of this name stand for a share, of which people are shown 100 times the value and "%"?
bool is_shown_in_percent(const checkpoint::RunResults& results, const std::string& name);

}  // namespace lacuna::cli
