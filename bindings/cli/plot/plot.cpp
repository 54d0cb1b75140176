#include "bindings/cli/plot/plot.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "bindings/cli/run/table.hpp"
#include "bindings/cli/shared/chart.hpp"

namespace lacuna::cli {
namespace {

using checkpoint::MethodResults;
using checkpoint::ResultColumn;
using checkpoint::RunResults;

/// All seeds of one method.
struct Seeds {
  std::string label;
  std::vector<const MethodResults*> all{};

  /// Returns the mean of a column over the seeds, for each evaluation that all of them have; NaN where one lacks the
  /// column.
  std::vector<double> mean(const std::string& column) const {
    std::size_t rows = std::numeric_limits<std::size_t>::max();
    for (const MethodResults* seed : all) rows = std::min(rows, seed->steps.size());
    std::vector<double> means(rows, 0);
    for (const MethodResults* seed : all) {
      const auto found = std::find_if(seed->columns.begin(), seed->columns.end(),
                                      [&](const ResultColumn& one) { return one.name == column; });
      for (std::size_t row = 0; row < rows; ++row) {
        means[row] += found == seed->columns.end() ? std::numeric_limits<double>::quiet_NaN() : found->values[row];
      }
    }
    for (double& value : means) value /= static_cast<double>(all.size());
    return means;
  }
};

std::vector<Seeds> methods_of(const RunResults& results) {
  std::vector<Seeds> methods;
  for (const MethodResults& one : results.methods) {
    auto known = std::find_if(methods.begin(), methods.end(), [&](const Seeds& s) { return s.label == one.method; });
    if (known == methods.end()) known = methods.insert(methods.end(), {.label = one.method});
    known->all.push_back(&one);
  }
  return methods;
}

/// A number to draw, made of one column or of two.
struct Quantity {
  std::string title;
  std::string column;
  std::string divided_by{};
  double factor = 1;
  ChartScale scale = ChartScale::FromLeast;

  std::vector<double> of(const Seeds& method) const {
    std::vector<double> values = method.mean(column);
    const std::vector<double> divisors = divided_by.empty() ? std::vector<double>() : method.mean(divided_by);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factor / (divisors.empty() ? 1 : divisors[i]);
    return values;
  }
};

Chart chart_of(const std::vector<Seeds>& methods, const Quantity& across, const Quantity& upwards) {
  Chart chart{.title = upwards.title, .x_title = across.title, .scale = upwards.scale, .lines = {}};
  for (const Seeds& method : methods) {
    chart.lines.push_back({.label = method.label, .x = across.of(method), .values = upwards.of(method)});
  }
  return chart;
}

Quantity quantity(const RunResults& results, const std::string& column) {
  std::string title = column;
  std::replace(title.begin(), title.end(), '_', ' ');
  const bool percent = is_shown_in_percent(results, column);
  return {.title = percent ? title + " (%)" : title, .column = column, .factor = percent ? 100.0 : 1.0};
}

/// Returns the columns to draw: the figure of the steps, and the first number that the workload says of its state. They
/// stand behind the costs.
std::vector<Quantity> quantities_of(const RunResults& results) {
  std::vector<Quantity> quantities;
  const std::vector<ResultColumn>& columns = results.methods.front().columns;
  const auto cost =
      std::find_if(columns.begin(), columns.end(), [](const ResultColumn& one) { return one.name == "payload_bytes"; });
  for (auto column = cost; column != columns.end() && quantities.size() < 2; ++column) {
    if (column != cost) quantities.insert(quantities.begin(), quantity(results, column->name));
  }
  return quantities;
}

}  // namespace

std::string plot_of(const RunResults& results, const std::string& title) {
  ChartSheet sheet{.title = title, .charts = {}};
  if (results.methods.empty()) return to_svg(sheet);
  const std::vector<Seeds> methods = methods_of(results);
  const Quantity seconds{.title = "seconds", .column = "seconds"},
      bytes{.title = "bytes sent per rank", .column = "payload_bytes"},
      waiting{.title = "share of the time that is waiting (%)",
              .column = "waited_seconds",
              .divided_by = "seconds",
              .factor = 100,
              .scale = ChartScale::FromZero};
  for (const Quantity& upwards : quantities_of(results)) {
    for (const Quantity& across : {seconds, bytes}) sheet.charts.push_back(chart_of(methods, across, upwards));
  }
  sheet.charts.push_back(chart_of(methods, seconds, waiting));
  return to_svg(sheet);
}

}  // namespace lacuna::cli
