#include "bindings/cli/run/results.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/checkpoint/result_file.hpp"
#include "bindings/cli/shared/join.hpp"
#include "runtime/method/method.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {
namespace {

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string machine() {
  utsname names{};
  uname(&names);
  std::string processor = "unknown processor";
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name")) continue;
    processor = line.substr(std::min(line.find(':') + 2, line.size()));
    break;
  }
  return fmt::format("{} {} {}, {}, {} processors", names.sysname, names.release, names.machine, processor,
                     sysconf(_SC_NPROCESSORS_ONLN));
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

/// Returns the variables that steer lacuna and UCX, one on each line, without the job's key.
std::string environment() {
  std::vector<std::string> lines;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view line = *variable;
    if (line.starts_with("LACUNA_KEY=")) continue;
    if (line.starts_with("LACUNA_") || line.starts_with("UCX_")) lines.emplace_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return joined(lines, "\n");
}

Attributes about(const Measure& measure) {
  return {{"unit", std::string(to_string(measure.unit))},
          {"adds_up", std::string(to_string(measure.adds_up))},
          {"counted_by", std::string(to_string(measure.by))}};
}

checkpoint::ResultRow row_of(const Evaluation& evaluation, MeasureTable table) {
  checkpoint::ResultRow row;
  row.step = static_cast<std::int64_t>(evaluation.steps);
  row.metrics = {{"epochs", evaluation.epochs},
                 {"seconds", evaluation.cost.seconds},
                 {"waited_seconds", evaluation.cost.waited},
                 {"payload_bytes", evaluation.cost.payload}};
  for (const auto* metrics : {&evaluation.metrics.values, &evaluation.metrics.details}) {
    for (const Metric& metric : *metrics) row.metrics.push_back({metric.name, metric.value});
  }
  const auto& measures = evaluation.cost.measures;
  for (std::size_t i = 0; i < measures.size(); ++i) {
    row.metrics.push_back({measures[i].name, measures[i].told.value, about(*table[i])});
  }
  return row;
}

checkpoint::SummaryRow summary_of(const MethodRecord& method) {
  const Evaluation& last = method.evaluations.back();
  checkpoint::SummaryRow row;
  row.method = method.label;
  row.metrics = {{"epochs", last.epochs},
                 {"seconds", method.cost.seconds},
                 {"waited_seconds", method.cost.waited},
                 {"payload_bytes", method.cost.payload}};
  for (const Metric& metric : last.metrics.values) row.metrics.push_back({metric.name, metric.value});
  return row;
}

Result<checkpoint::ResultFile> open_or_create(const RunConfig& config, const Attributes& provenance) {
  const std::filesystem::path path = result_path(config);
  Result<checkpoint::ResultFile> file = checkpoint::ResultFile::open(path);
  const auto* values = file ? find_attribute<std::string>(file->provenance(), "values") : nullptr;
  if (values != nullptr && *values == config.values) return file;
  return checkpoint::ResultFile::create(path, provenance);
}

}  // namespace

std::filesystem::path result_path(const RunConfig& config) { return config.output / (config.name + ".h5"); }

Attributes provenance_of(const RunConfig& config, const Communicator& communicator) {
  return {{"created_utc", utc_now()},
          {"name", config.name},
          {"lacuna_version", std::string(version())},
          {"compiler", std::string(__VERSION__)},
          {"libraries", fmt::format("UCX {}, HDF5 {}", ucx_version(), checkpoint::hdf5_version())},
          {"machine", machine()},
          {"hosts", joined(communicator.hosts(), " ")},
          {"ranks", std::int64_t{communicator.size()}},
          {"command", command_line()},
          {"environment", environment()},
          {"seed", static_cast<std::int64_t>(config.seed)},
          {"config", config.text},
          {"values", config.values}};
}

Status write_results(const RunConfig& config, const Attributes& provenance, const RunRecord& record) {
  Result<checkpoint::ResultFile> file = open_or_create(config, provenance);
  if (!file) return file.status();
  std::vector<checkpoint::SummaryRow> summary;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const MethodRecord& method = record[i];
    const Method* known = config.methods[i].options.method();
    const MeasureTable table = known ? known->measures : MeasureTable();
    std::vector<checkpoint::ResultRow> rows;
    for (const Evaluation& evaluation : method.evaluations) rows.push_back(row_of(evaluation, table));
    if (!rows.empty()) {
      if (Status appended = file->append(method.label, rows); !appended) return appended;
    }
    if (method.finished) summary.push_back(summary_of(method));
  }
  return summary.empty() ? Status::ok() : file->summarise(std::move(summary));
}

}  // namespace lacuna::cli
