#include "bindings/cli/replay/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "bindings/cli/shared/chart.hpp"
#include "bindings/cli/shared/number_table.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "runtime/files/output_folder.hpp"

namespace lacuna::cli {
namespace {

/// Returns the median; of an even number of values it is the lower one.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double last(const std::vector<double>& values) { return values.empty() ? 0 : values.back(); }

double share_of(double bytes, double dense) { return dense > 0 ? bytes / dense : 1; }

Json json_of(const ReplayedMethod& method) {
  const ReplaySeries& series = method.series();
  const double bytes = mean(series.bytes), dense = mean(series.dense_bytes);
  return {{"method", method.label()},
          {"algorithms", method.algorithms()},
          {"bytes_per_rank", bytes},
          {"dense_bytes_per_rank", dense},
          {"bytes_share", share_of(bytes, dense)},
          {"seconds_median", median(series.seconds)},
          {"error_median", median(series.error)},
          {"running_error_last", last(series.running_error)},
          {"residual_last", last(series.residual)},
          {"series",
           {{"bytes_per_rank", series.bytes},
            {"dense_bytes_per_rank", series.dense_bytes},
            {"seconds", series.seconds},
            {"error", series.error},
            {"running_error", series.running_error},
            {"residual", series.residual}}}};
}

/// Makes charts of values over the steps of a recording.
class Charts {
 public:
  Charts(const Recording& recording, const std::vector<ReplayedMethod>& methods) : methods_(methods) {
    for (const std::int64_t step : recording.steps()) steps_.push_back(static_cast<double>(step));
  }

  Chart of(std::string title, ChartScale scale, std::vector<double> ReplaySeries::*values, double factor = 1) const {
    Chart chart{.title = std::move(title), .x_title = "step", .scale = scale, .lines = {}};
    for (const ReplayedMethod& method : methods_) {
      ChartLine line{.label = method.label(), .x = steps_, .values = method.series().*values};
      for (double& value : line.values) value *= factor;
      chart.lines.push_back(std::move(line));
    }
    return chart;
  }

 private:
  const std::vector<ReplayedMethod>& methods_;
  std::vector<double> steps_;
};

Status write_text(const std::filesystem::path& path, const std::string& text) {
  return write_whole(path, [&](std::FILE* file) {
    put(file, text);
    return Status::ok();
  });
}

}  // namespace

std::string replay_table(const std::vector<ReplayedMethod>& methods) {
  std::vector<std::array<std::string, 7>> rows = {
      {"method", "bytes per rank", "/ dense", "time per step", "error", "of running sum", "residual"}};
  for (const ReplayedMethod& method : methods) {
    const ReplaySeries& series = method.series();
    const double bytes = mean(series.bytes);
    rows.push_back({method.label(), bytes_text(bytes), fmt::format("{:.3f}", share_of(bytes, mean(series.dense_bytes))),
                    quantity::Duration::text(median(series.seconds)), fmt::format("{:.2e}", median(series.error)),
                    fmt::format("{:.2e}", last(series.running_error)), fmt::format("{:.3g}", last(series.residual))});
  }
  std::array<std::size_t, 7> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
    if (&row == &rows.front()) text += std::string(text.size() - 1, '-') + '\n';
  }
  return text;
}

Status write_replay_json(const ReplayOptions& options, const Communicator& communicator, const Recording& recording,
                         const std::vector<ReplayedMethod>& methods) {
  Json json = provenance();
  json["file"] = options.file.string();
  json["ranks"] = communicator.size();
  json["hosts"] = communicator.hosts();
  json["algorithm"] = options.algorithm;
  json["seed"] = options.seed;
  json["steps"] = recording.steps();
  for (const StateItem& tensor : recording.tensors()) {
    json["tensors"].push_back({{"name", tensor.name}, {"dtype", to_string(tensor.dtype)}, {"count", tensor.count}});
  }
  for (const ReplayedMethod& method : methods) json["methods"].push_back(json_of(method));
  return write_text(json_path(options), json_text(json));
}

Status write_replay_plot(const ReplayOptions& options, const Recording& recording,
                         const std::vector<ReplayedMethod>& methods) {
  const Charts charts(recording, methods);
  const ChartSheet sheet{
      .title = options.file.filename().string(),
      .charts = {charts.of("bytes sent per rank", ChartScale::FromZero, &ReplaySeries::bytes),
                 charts.of("time of a step (ms)", ChartScale::FromZero, &ReplaySeries::seconds, 1e3),
                 charts.of("relative error of the sum", ChartScale::Logarithmic, &ReplaySeries::error),
                 charts.of("relative error of the sum of all steps so far", ChartScale::Logarithmic,
                           &ReplaySeries::running_error),
                 charts.of("L2 norm of the residuals", ChartScale::FromZero, &ReplaySeries::residual)}};
  return write_text(options.plot, to_svg(sheet));
}

}  // namespace lacuna::cli
