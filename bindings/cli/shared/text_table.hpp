#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace lacuna::cli {

inline constexpr std::size_t no_width = std::numeric_limits<std::size_t>::max();

/// Returns how many columns of characters standard output has. A file or a pipe has no width.
std::size_t terminal_width();

/// Returns lines of rows with the same number of cells each. Columns are as wide as their longest cell, with two spaces
/// between them. The last column is wrapped between words, to lines of at most `width` characters in all; it has at
/// least 20 of these, even if the line then becomes longer.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t width = terminal_width());

}  // namespace lacuna::cli
