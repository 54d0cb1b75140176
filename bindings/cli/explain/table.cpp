#include "bindings/cli/explain/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/cli/shared/quantities.hpp"

namespace lacuna::cli {
namespace {

/// Returns the row that is predicted to be quickest, among those that drop sums or among the others.
const ExplainedRow* quickest(const ExplainedTable& table, bool drops) {
  const ExplainedRow* best = nullptr;
  for (const ExplainedRow& row : table.rows) {
    if (row.seconds && row.drops == drops && (!best || *row.seconds < *best->seconds)) best = &row;
  }
  return best;
}

}  // namespace

std::string quicker_than_taken(const ExplainedTable& table) {
  const auto taken = std::find_if(table.rows.begin(), table.rows.end(), [](const auto& row) { return row.taken; });
  if (taken == table.rows.end() || !taken->seconds) return {};
  std::string lines;
  for (const bool drops : {false, true}) {
    const ExplainedRow* best = quickest(table, drops);
    if (!best || *best->seconds >= *taken->seconds) continue;
    const char* why = drops && !taken->drops ? ", but its result lacks sums, which are sent later"
                                             : "; the choice follows its rule and weighs no prediction";
    lines += fmt::format("  {0} is predicted to be quicker ({1}){2}; -a {0} asks for it\n", best->name,
                         quantity::Duration::text(*best->seconds), why);
  }
  return lines;
}

std::string name_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

}  // namespace lacuna::cli
