#include "bindings/cli/shared/number_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace lacuna::cli {
namespace {

/// Returns how many characters a text in UTF-8 has.
std::size_t width_of(std::string_view text) {
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

}  // namespace

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    text += row[0] + std::string(widths[0] - width_of(row[0]), ' ');
    for (std::size_t i = 1; i < row.size(); ++i) text += std::string(2 + widths[i] - width_of(row[i]), ' ') + row[i];
    text += '\n';
    if (&row != &rows.front()) continue;
    const std::size_t gaps = 2 * (widths.size() - 1);
    text += std::string(std::accumulate(widths.begin(), widths.end(), gaps), '-') + '\n';
  }
  return text;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 2, units[unit]);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace lacuna::cli
