#include "bindings/cli/show/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

namespace lacuna::cli {
namespace {

using checkpoint::MethodResults;
using checkpoint::ResultColumn;
using nlohmann::json;

json json_of(const Attributes& attributes) {
  json object = json::object();
  for (const Attribute& one : attributes) std::visit([&](const auto& value) { object[one.name] = value; }, one.value);
  return object;
}

/// Returns the values in rows of so many columns.
json in_rows(const std::vector<double>& values, std::size_t columns) {
  json rows = json::array();
  for (std::size_t at = 0; at < values.size(); at += columns) {
    rows.push_back(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(at),
                                       values.begin() + static_cast<std::ptrdiff_t>(at + columns)));
  }
  return rows;
}

json json_of(const MethodResults& method) {
  json object = {{"label", method.method}, {"seed", method.seed}, {"step", method.steps}};
  object.update(json_of(method.about));
  for (const ResultColumn& column : method.columns) {
    json& one = object["columns"][column.name] = json_of(column.about);
    one["values"] = column.values;
    if (!column.by_rank.empty()) one["by_rank"] = in_rows(column.by_rank, column.by_rank.size() / column.values.size());
  }
  return object;
}

/// Returns a cell of a CSV table, in quotes where RFC 4180 asks for them.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

std::string cell(const MethodResults& method, const std::string& column, std::size_t row) {
  const auto found = std::find_if(method.columns.begin(), method.columns.end(),
                                  [&](const ResultColumn& one) { return one.name == column; });
  return found == method.columns.end() ? "" : fmt::to_string(found->values[row]);
}

}  // namespace

std::string results_as_json(const checkpoint::RunResults& results) {
  json object = {{"provenance", json_of(results.provenance)}, {"methods", json::array()}, {"summary", json::array()}};
  for (const MethodResults& method : results.methods) object["methods"].push_back(json_of(method));
  for (const checkpoint::SummaryRow& row : results.summary) {
    json line = {{"method", row.method}};
    for (const checkpoint::Metric& metric : row.metrics) line[metric.name] = metric.value;
    object["summary"].push_back(std::move(line));
  }
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string results_as_csv(const checkpoint::RunResults& results) {
  std::vector<std::string> columns;
  for (const MethodResults& method : results.methods) {
    for (const ResultColumn& column : method.columns) {
      if (std::find(columns.begin(), columns.end(), column.name) == columns.end()) columns.push_back(column.name);
    }
  }
  std::string text = "method,seed,step";
  for (const std::string& column : columns) text += "," + cell(column);
  text += '\n';
  for (const MethodResults& method : results.methods) {
    for (std::size_t row = 0; row < method.steps.size(); ++row) {
      text += fmt::format("{},{},{}", cell(method.method), method.seed, method.steps[row]);
      for (const std::string& column : columns) text += "," + cell(method, column, row);
      text += '\n';
    }
  }
  return text;
}

}  // namespace lacuna::cli
