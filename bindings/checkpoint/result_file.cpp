#include "bindings/checkpoint/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/checkpoint/files.hpp"
#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::checkpoint {

namespace {

const std::string methods_group = "/methods";
const std::string summary_table = "/summary";
const std::string step_column = "step";

Attributes schema() { return {{"schema", "lacuna-run"}, {"schema_version", std::int64_t{1}}}; }

std::string names_of(const std::vector<Metric>& metrics) {
  std::string text;
  for (const Metric& metric : metrics) text += (text.empty() ? "" : ", ") + metric.name;
  return text;
}

void write_method(hdf5::Output& output, const MethodResults& results) {
  const std::string group = methods_group + "/" + results.method;
  output.group(group);
  std::vector<std::int64_t> steps;
  for (const ResultRow& row : results.rows) steps.push_back(row.step);
  output.array(group, {step_column, Dtype::I64, steps.data(), steps.size()});
  for (std::size_t column = 0; column < results.rows.front().metrics.size(); ++column) {
    std::vector<double> values;
    for (const ResultRow& row : results.rows) values.push_back(row.metrics[column].value);
    const Metric& metric = results.rows.front().metrics[column];
    output.array(group, {metric.name, Dtype::F64, values.data(), values.size()});
    output.attributes(group + "/" + metric.name, metric.about);
  }
}

hdf5::Table table_of(const std::vector<SummaryRow>& rows) {
  hdf5::Table table;
  table.key_name = "method";
  for (const Metric& metric : rows.front().metrics) table.columns.push_back({metric.name, {}});
  for (const SummaryRow& row : rows) {
    table.keys.push_back(row.method);
    for (std::size_t i = 0; i < row.metrics.size(); ++i) table.columns[i].values.push_back(row.metrics[i].value);
  }
  return table;
}

std::vector<SummaryRow> rows_of(const hdf5::Table& table) {
  std::vector<SummaryRow> rows;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    SummaryRow& row = rows.emplace_back(SummaryRow{table.keys[i], {}});
    for (const hdf5::Table::Column& column : table.columns) row.metrics.push_back({column.name, column.values[i]});
  }
  return rows;
}

/// Reads one dataset of a method and puts its values into the rows.
Status read_column(const hdf5::Input& input, const std::string& name, MethodResults& results) {
  const std::string group = methods_group + "/" + results.method;
  Result<StateItem> item = input.describe(group, name);
  if (!item) return item.status();
  const bool is_step = name == step_column;
  if (is_step) results.rows.resize(item->count);
  if (item->count != results.rows.size() || item->dtype != (is_step ? Dtype::I64 : Dtype::F64)) {
    return Status(Code::Io,
                  fmt::format("{}/{}: {} of {}, which must fit {}", group, name, count_of(item->count, "element"),
                              to_string(item->dtype), count_of(results.rows.size(), "step")));
  }
  std::vector<std::int64_t> steps(is_step ? item->count : 0);
  std::vector<double> values(is_step ? 0 : item->count);
  item->data = is_step ? static_cast<void*>(steps.data()) : values.data();
  const Status read = input.read(group, *item);
  Result<Attributes> about = input.attributes(group + "/" + name);
  if (!about) return about.status();
  std::erase_if(*about, [](const Attribute& one) { return one.name == "dtype"; });
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    if (is_step) {
      results.rows[row].step = steps[row];
    } else {
      results.rows[row].metrics.push_back({name, values[row], *about});
    }
  }
  return read;
}

}  // namespace

Result<ResultFile> ResultFile::create(std::filesystem::path path, Attributes provenance) {
  ResultFile file(std::move(path));
  file.provenance_ = std::move(provenance);
  const Status saved = file.save();
  if (!saved) return saved;
  return file;
}

Result<ResultFile> ResultFile::open(std::filesystem::path path) {
  ResultFile file(std::move(path));
  const Status loaded = file.load();
  if (!loaded) return loaded;
  return file;
}

Status ResultFile::append(const std::string& method, std::span<const ResultRow> rows) {
  if (rows.empty()) return Status::ok();
  const auto same_method = [&](const MethodResults& results) { return results.method == method; };
  const auto place = std::find_if(methods_.begin(), methods_.end(), same_method);
  MethodResults results = place == methods_.end() ? MethodResults{method, {}} : *place;
  std::erase_if(results.rows, [&](const ResultRow& row) { return row.step >= rows.front().step; });
  if (const Status named = hdf5::check_name(path_, method); !named) return named;
  for (const ResultRow& row : rows) {
    const std::string name = fmt::format("step {} of '{}'", row.step, method);
    if (!results.rows.empty() && row.step <= results.rows.back().step) {
      return Status(Code::InvalidArgument, fmt::format("{}: {} comes after step {}; steps ascend", path_.string(), name,
                                                       results.rows.back().step));
    }
    results.rows.push_back(row);
    if (const Status fits = check(row.metrics, results.rows.front().metrics, name); !fits) return fits;
  }
  if (place == methods_.end()) {
    methods_.push_back(std::move(results));
  } else {
    *place = std::move(results);
  }
  return save();
}

Status ResultFile::summarise(std::vector<SummaryRow> rows) {
  for (const SummaryRow& row : rows) {
    const std::string name = fmt::format("the summary of '{}'", row.method);
    if (const Status fits = check(row.metrics, rows.front().metrics, name); !fits) return fits;
  }
  summary_ = std::move(rows);
  return save();
}

Status ResultFile::check(const std::vector<Metric>& metrics, const std::vector<Metric>& model,
                         const std::string& row) const {
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (const Status named = hdf5::check_name(path_, metrics[i].name); !named) return named;
    const auto same_name = [&](const Metric& other) { return other.name == metrics[i].name; };
    if (metrics[i].name != step_column && metrics[i].name != "method" &&
        std::count_if(metrics.begin(), metrics.end(), same_name) == 1) {
      continue;
    }
    return Status(Code::InvalidArgument, fmt::format("{}: {} has the metric '{}' twice; 'step' and 'method' are taken",
                                                     path_.string(), row, metrics[i].name));
  }
  if (names_of(metrics) == names_of(model)) return Status::ok();
  return Status(Code::InvalidArgument, fmt::format("{}: {} has the metrics [{}], the rows before have [{}]",
                                                   path_.string(), row, names_of(metrics), names_of(model)));
}

Status ResultFile::save() const {
  const hdf5::Turn turn;
  hdf5::Output output(path_, 0);
  output.attributes("/", schema());
  output.attributes("/", provenance_);
  output.group(methods_group);
  for (const MethodResults& results : methods_) write_method(output, results);
  if (!summary_.empty()) output.table(summary_table, table_of(summary_));
  return output.finish([this](std::span<const std::byte> image) { return replace_file(path_, image); });
}

Status ResultFile::load() {
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open(path_);
  if (!input) return input.status();
  Result<Attributes> attributes = input->attributes("/");
  if (!attributes) return attributes.status();
  const Attributes expected = schema();
  if (attributes->size() < expected.size() || !std::equal(expected.begin(), expected.end(), attributes->begin())) {
    return Status(Code::Io, fmt::format("{}: this is not a result file of lacuna, version 1", path_.string()));
  }
  provenance_.assign(attributes->begin() + static_cast<std::ptrdiff_t>(expected.size()), attributes->end());

  const Result<std::vector<std::string>> methods = input->names(methods_group);
  if (!methods) return methods.status();
  for (const std::string& method : *methods) {
    MethodResults& results = methods_.emplace_back(MethodResults{method, {}});
    const Result<std::vector<std::string>> columns = input->names(methods_group + "/" + method);
    if (!columns) return columns.status();
    for (const std::string& column : *columns) {
      if (const Status read = read_column(*input, column, results); !read) return read;
    }
    if (results.rows.empty()) {
      return Status(Code::Io, fmt::format("{}: the method '{}' has no steps", path_.string(), method));
    }
  }
  const Result<std::vector<std::string>> members = input->names("/");
  if (!members) return members.status();
  if (std::find(members->begin(), members->end(), "summary") == members->end()) return Status::ok();
  const Result<hdf5::Table> table = input->table(summary_table);
  if (!table) return table.status();
  summary_ = rows_of(*table);
  return Status::ok();
}

}  // namespace lacuna::checkpoint
