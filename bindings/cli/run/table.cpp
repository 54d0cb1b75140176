#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "bindings/cli/run/display.hpp"

namespace lacuna::cli {
namespace {

using Row = std::vector<std::string>;

/// Makes columns as wide as they need. The first one is aligned to the left, the others to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
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

std::string ratio_text(double value, double dense) { return dense > 0 ? fmt::format("{:.2f}", value / dense) : "-"; }

std::string heading(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string shown(const Metric& metric) {
  return metric.percent ? fmt::format("{:.2f} %", 100 * metric.value) : fmt::format("{:.4g}", metric.value);
}

std::vector<const MethodRecord*> finished(const RunRecord& record) {
  std::vector<const MethodRecord*> methods;
  for (const MethodRecord& method : record) {
    if (method.finished && !method.evaluations.empty()) methods.push_back(&method);
  }
  return methods;
}

}  // namespace

std::string table_of(const RunRecord& record) {
  const std::vector<const MethodRecord*> methods = finished(record);
  if (methods.empty()) return "no method is finished\n";
  const auto dense = std::find_if(methods.begin(), methods.end(), [](const auto* method) { return method->dense; });
  const Cost base = dense == methods.end() ? Cost{} : (*dense)->cost;
  const std::string metric = heading(methods.front()->evaluations.back().metrics.values.front().name);
  std::vector<Row> rows = {
      {"method", "epochs", metric, "time", "waiting", "share", "payload per rank", "time / dense", "bytes / dense"}};
  for (const MethodRecord* method : methods) {
    const Evaluation& last = method->evaluations.back();
    const Cost& cost = method->cost;
    rows.push_back({method->label, fmt::format("{:.2f}", last.epochs), shown(last.metrics.values.front()),
                    fmt::format("{:.1f} s", cost.seconds), fmt::format("{:.1f} s", cost.waited),
                    fmt::format("{:.0f} %", cost.seconds > 0 ? 100 * cost.waited / cost.seconds : 0),
                    bytes_text(cost.payload), ratio_text(cost.seconds, base.seconds),
                    ratio_text(cost.payload, base.payload)});
  }
  return aligned(rows);
}

std::string prediction_of(const RunRecord& record) {
  constexpr std::array<std::pair<const char*, double>, 4> links = {
      {{"100 Mbit/s", 1e8}, {"1 Gbit/s", 1e9}, {"10 Gbit/s", 1e10}, {"100 Gbit/s", 1e11}}};
  std::vector<Row> rows = {{"method"}};
  for (const auto& link : links) rows.front().emplace_back(link.first);
  for (const MethodRecord* method : finished(record)) {
    Row row = {method->label};
    const double computing = method->cost.seconds - method->cost.waited;
    for (const auto& link : links)
      row.push_back(fmt::format("{:.1f} s", computing + 8 * method->cost.payload / link.second));
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

}  // namespace lacuna::cli
