#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

/// The cells of one line of a table.
using Row = std::vector<std::string>;

/// Returns a table whose first row is the heading. All rows have the same number of cells. Columns are as wide as they
/// need. The first one is aligned to the left, the others to the right.
std::string aligned(const std::vector<Row>& rows);

/// Returns a text such as "4.82 GB", with powers of 1000.
std::string bytes_text(double bytes);

/// Returns minutes and seconds, such as "3:05".
std::string clock_text(double seconds);

}  // namespace lacuna::cli
