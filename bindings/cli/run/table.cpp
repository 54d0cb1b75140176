#include "bindings/cli/run/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/shared/number_table.hpp"

namespace lacuna::cli {
namespace {

using checkpoint::Metric;
using checkpoint::RunResults;
using checkpoint::SummaryRow;

std::string ratio_text(double value, double dense) { return dense > 0 ? fmt::format("{:.2f}", value / dense) : "-"; }

std::string heading(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Returns null if the row has no such number.
const Metric* find(const SummaryRow& row, std::string_view name) {
  const auto found =
      std::find_if(row.metrics.begin(), row.metrics.end(), [&](const Metric& one) { return one.name == name; });
  return found == row.metrics.end() ? nullptr : &*found;
}

/// Returns 0 if the row has no such number.
double value_of(const SummaryRow& row, std::string_view name) {
  const Metric* metric = find(row, name);
  return metric ? metric->value : 0;
}

bool has_several_seeds(const SummaryRow& row) { return value_of(row, "seeds") > 1; }

/// Returns a text of the mean, with the deviation if there are several seeds.
std::string shown(const SummaryRow& row, const std::string& name, int digits, std::string_view unit,
                  double factor = 1) {
  const double mean = factor * value_of(row, name), deviation = factor * value_of(row, name + "_deviation");
  if (!has_several_seeds(row)) return fmt::format("{:.{}f} {}", mean, digits, unit);
  return fmt::format("{:.{}f} ± {:.{}f} {}", mean, digits, deviation, digits, unit);
}

std::string shown_metric(const RunResults& results, const SummaryRow& row, const std::string& name) {
  if (is_shown_in_percent(results, name)) return shown(row, name, 2, "%", 100);
  if (!has_several_seeds(row)) return fmt::format("{:.4g}", value_of(row, name));
  return fmt::format("{:.4g} ± {:.2g}", value_of(row, name), value_of(row, name + "_deviation"));
}

/// Returns the name of the number that says best how good the state is: the first one behind the costs.
std::string first_metric(const SummaryRow& row) {
  const auto is_last_cost = [](const Metric& one) { return one.name == "payload_bytes_deviation"; };
  const auto cost = std::find_if(row.metrics.begin(), row.metrics.end(), is_last_cost);
  return row.metrics.end() - cost > 1 ? (cost + 1)->name : std::string();
}

/// Returns the line of the first dense method, or null.
const SummaryRow* dense_row(const RunResults& results) {
  const auto is_dense = [&](const SummaryRow& row) {
    return std::any_of(results.methods.begin(), results.methods.end(), [&](const checkpoint::MethodResults& one) {
      const auto* dense = find_attribute<std::int64_t>(one.about, "dense");
      return one.method == row.method && dense && *dense != 0;
    });
  };
  const auto found = std::find_if(results.summary.begin(), results.summary.end(), is_dense);
  return found == results.summary.end() ? nullptr : &*found;
}

}  // namespace

bool is_shown_in_percent(const RunResults& results, const std::string& name) {
  for (const checkpoint::MethodResults& method : results.methods) {
    for (const checkpoint::ResultColumn& column : method.columns) {
      if (column.name == name && find_attribute<std::string>(column.about, "shown_in")) return true;
    }
  }
  return false;
}

std::string table_of(const RunResults& results) {
  if (results.summary.empty()) return "no method is finished\n";
  const SummaryRow* dense = dense_row(results);
  const double dense_seconds = dense ? value_of(*dense, "seconds") : 0;
  const double dense_payload = dense ? value_of(*dense, "payload_bytes") : 0;
  const bool several = std::any_of(results.summary.begin(), results.summary.end(), has_several_seeds);
  const std::string metric = first_metric(results.summary.front());
  const std::string done = find(results.summary.front(), "epochs") ? "epochs" : "steps";
  std::vector<Row> rows = {{"method", done, heading(metric), "time", "waiting", "share", "payload per rank",
                            "time / dense", "bytes / dense"}};
  if (several) rows.front().insert(rows.front().begin() + 1, "seeds");
  for (const SummaryRow& row : results.summary) {
    const double seconds = value_of(row, "seconds"), payload = value_of(row, "payload_bytes");
    Row cells = {row.method,
                 fmt::format("{:.{}f}", value_of(row, done), done == "steps" ? 0 : 2),
                 shown_metric(results, row, metric),
                 shown(row, "seconds", 1, "s"),
                 shown(row, "waited_seconds", 1, "s"),
                 fmt::format("{:.0f} %", seconds > 0 ? 100 * value_of(row, "waited_seconds") / seconds : 0),
                 bytes_text(payload),
                 ratio_text(seconds, dense_seconds),
                 ratio_text(payload, dense_payload)};
    if (several) cells.insert(cells.begin() + 1, fmt::format("{:.0f}", value_of(row, "seeds")));
    rows.push_back(std::move(cells));
  }
  return aligned(rows);
}

std::string prediction_of(const RunResults& results) {
  constexpr std::array<std::pair<const char*, double>, 4> links = {
      {{"100 Mbit/s", 1e8}, {"1 Gbit/s", 1e9}, {"10 Gbit/s", 1e10}, {"100 Gbit/s", 1e11}}};
  std::vector<Row> rows = {{"method"}};
  for (const auto& link : links) rows.front().emplace_back(link.first);
  for (const SummaryRow& row : results.summary) {
    Row cells = {row.method};
    const double computing = value_of(row, "seconds") - value_of(row, "waited_seconds");
    for (const auto& link : links) {
      cells.push_back(fmt::format("{:.1f} s", computing + 8 * value_of(row, "payload_bytes") / link.second));
    }
    rows.push_back(std::move(cells));
  }
  return aligned(rows);
}

}  // namespace lacuna::cli
