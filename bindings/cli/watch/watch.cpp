#include "bindings/cli/watch/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string_view>
#include <system_error>

#include "bindings/cli/run/steps.hpp"
#include "bindings/cli/run/table.hpp"
#include "bindings/cli/shared/number_table.hpp"
#include "bindings/cli/shared/quantities.hpp"

namespace lacuna::cli {
namespace {

using checkpoint::MethodResults;
using checkpoint::ResultColumn;
using checkpoint::RunResults;
using checkpoint::StepTable;

std::size_t done_of(const StepTable& work) {
  return static_cast<std::size_t>(std::count(work.known.begin(), work.known.end(), 1));
}

std::string method_of(const StepTable& work) {
  const auto* label = find_attribute<std::string>(work.about, "method");
  return label == nullptr ? "" : *label;
}

std::int64_t seed_of(const StepTable& work) {
  const auto* seed = find_attribute<std::int64_t>(work.about, "seed");
  return seed == nullptr ? 0 : *seed;
}

std::size_t steps_of(const StepTable& work) {
  const auto* steps = find_attribute<std::int64_t>(work.about, "steps");
  return steps == nullptr ? work.places() : static_cast<std::size_t>(*steps);
}

/// Returns the mean over the last steps that are known, or 0.
double recent(const StepTable& work, std::string_view column) {
  constexpr std::size_t window = 50;
  const auto found = std::find_if(work.columns.begin(), work.columns.end(),
                                  [&](const checkpoint::StepColumn& one) { return one.name == column; });
  if (found == work.columns.end()) return 0;
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t step = work.places(); step-- > 0 && count < window;) {
    if (work.known[step] == 0) continue;
    sum += found->values[step];
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

/// Returns what the newest evaluation of the work has found, such as "87.61 %", or nothing.
std::string newest(const RunProgress& progress, const StepTable& work, const std::string& metric) {
  if (!progress.results) return "";
  for (const MethodResults& one : progress.results->methods) {
    if (one.method != method_of(work) || one.seed != seed_of(work)) continue;
    for (const ResultColumn& column : one.columns) {
      if (column.name != metric || column.values.empty()) continue;
      return is_shown_in_percent(*progress.results, metric) ? fmt::format("{:.2f} %", 100 * column.values.back())
                                                            : fmt::format("{:.4g}", column.values.back());
    }
  }
  return "";
}

/// Returns the name of the first number that evaluations find, and not steps.
std::string metric_of(const RunProgress& progress) {
  if (!progress.results || progress.results->methods.empty() || progress.work.empty()) return "";
  for (const ResultColumn& column : progress.results->methods.front().columns) {
    const auto is_of_steps = [&](const checkpoint::StepColumn& one) { return one.name == column.name; };
    const std::vector<checkpoint::StepColumn>& of_steps = progress.work.front().columns;
    if (column.name != "epochs" && std::none_of(of_steps.begin(), of_steps.end(), is_of_steps)) return column.name;
  }
  return "";
}

std::string heading(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

Row row_of(const RunProgress& progress, const StepTable& work, const std::string& metric) {
  const std::size_t done = done_of(work), left = steps_of(work) - done;
  const double seconds = recent(work, "seconds"), waited = recent(work, "waited_seconds");
  Row row = {method_of(work), fmt::to_string(seed_of(work)), fmt::format("{} / {}", done, steps_of(work))};
  if (done == 0) {
    row.resize(8);
  } else {
    row.push_back(fmt::format("{:.4g}", recent(work, work.columns.front().name)));
    row.push_back(quantity::Duration::text(seconds));
    row.push_back(fmt::format("{:.0f} %", seconds > 0 ? 100 * waited / seconds : 0));
    row.push_back(bytes_text(recent(work, "payload_bytes")));
    row.push_back(left == 0 ? "done" : clock_text(seconds * static_cast<double>(left)));
  }
  if (!metric.empty()) row.push_back(newest(progress, work, metric));
  return row;
}

/// Returns the result file in the folder, if there is one that can be read.
std::optional<RunResults> results_in(const std::filesystem::path& output) {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(output, none)) {
    if (file.path().extension() != ".h5") continue;
    if (Result<RunResults> results = checkpoint::read_results(file.path())) return *std::move(results);
  }
  return std::nullopt;
}

}  // namespace

bool RunProgress::finished() const {
  return std::all_of(work.begin(), work.end(), [](const StepTable& one) { return done_of(one) == steps_of(one); });
}

Result<RunProgress> read_progress(const std::filesystem::path& output) {
  RunProgress progress;
  auto newest_write = std::filesystem::file_time_type::min();
  for (const std::filesystem::path& folder : folders_of_work(output)) {
    std::error_code error;
    const std::filesystem::path file = folder / step_file_name;
    const auto written = std::filesystem::last_write_time(file, error);
    if (error) continue;
    Result<StepTable> steps = checkpoint::read_steps(file);
    if (!steps) return steps.status();
    if (steps->columns.empty()) continue;
    progress.work.push_back(*std::move(steps));
    newest_write = std::max(newest_write, written);
  }
  if (progress.work.empty()) {
    return Status(Code::Io,
                  fmt::format("{} holds no run; give the output folder of a run, or its result file", output.string()));
  }
  const auto passed = std::filesystem::file_time_type::clock::now() - newest_write;
  progress.seconds_since_step = std::chrono::duration<double>(passed).count();
  progress.results = results_in(output);
  return progress;
}

std::string progress_table(const RunProgress& progress) {
  const std::string metric = metric_of(progress);
  std::vector<Row> rows = {{"method", "seed", "steps", heading(progress.work.front().columns.front().name),
                            "time / step", "waiting", "bytes / step", "time left"}};
  if (!metric.empty()) rows.front().push_back(heading(metric));
  for (const StepTable& work : progress.work) rows.push_back(row_of(progress, work, metric));
  return aligned(rows);
}

}  // namespace lacuna::cli
