#pragma once

#include <string>

#include "bindings/checkpoint/result_file.hpp"

namespace lacuna::cli {

/// Returns an SVG picture of a run: how good each method was, its training loss and its share of waiting, against
/// seconds and against bytes. With several seeds its lines are means over them, up to the last step that all have.
std::string plot_of(const checkpoint::RunResults& results, const std::string& title);

}  // namespace lacuna::cli
