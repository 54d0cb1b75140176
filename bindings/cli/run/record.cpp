#include "bindings/cli/run/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace lacuna {

namespace {

/// JSON has no number that is not finite. Such a value becomes a text.
nlohmann::json json_of(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::to_string(value));
}
double number_of(const nlohmann::json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : json.get<double>();
}

}  // namespace

void to_json(nlohmann::json& json, const Metric& metric) {
  json = {{"name", metric.name},
          {"value", json_of(metric.value)},
          {"percent", metric.percent},
          {"unit", metric.unit},
          {"description", metric.description}};
}

void from_json(const nlohmann::json& json, Metric& metric) {
  metric.value = number_of(json.at("value"));
  json.at("name").get_to(metric.name);
  json.at("percent").get_to(metric.percent);
  json.at("unit").get_to(metric.unit);
  json.at("description").get_to(metric.description);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Metrics, values, fingerprint, details)

namespace cli {

void to_json(nlohmann::json& json, const MeasureCost& measure) {
  json = {{"name", measure.name}, {"value", json_of(measure.told.value)}, {"times", measure.told.times}};
}

void from_json(const nlohmann::json& json, MeasureCost& measure) {
  json.at("name").get_to(measure.name);
  measure.told = {number_of(json.at("value")), json.at("times").get<std::uint64_t>()};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkCost, seconds, waited, payload, measures)

void to_json(nlohmann::json& json, const Figures& figures) {
  json = {{"sum", json_of(figures.sum)}, {"count", figures.count}};
}

void from_json(const nlohmann::json& json, Figures& figures) {
  figures.sum = number_of(json.at("sum"));
  json.at("count").get_to(figures.count);
}

void to_json(nlohmann::json& json, const Evaluation& one) {
  json = {{"steps", one.steps},        {"epochs", one.epochs},   {"figures", one.figures},
          {"cost", one.cost.together}, {"metrics", one.metrics}, {"by_rank", nlohmann::json::array()}};
  for (const std::vector<double>& values : one.cost.by_rank) {
    nlohmann::json ranks = nlohmann::json::array();
    for (const double value : values) ranks.push_back(json_of(value));
    json["by_rank"].push_back(std::move(ranks));
  }
}

void from_json(const nlohmann::json& json, Evaluation& one) {
  json.at("steps").get_to(one.steps);
  json.at("epochs").get_to(one.epochs);
  json.at("figures").get_to(one.figures);
  json.at("cost").get_to(one.cost.together);
  for (const nlohmann::json& ranks : json.at("by_rank")) {
    std::vector<double>& values = one.cost.by_rank.emplace_back();
    for (const nlohmann::json& value : ranks) values.push_back(number_of(value));
  }
  json.at("metrics").get_to(one.metrics);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkRecord, label, seed, dense, finished, algorithms, steps, cost, figures,
                                   evaluations)

std::string to_json(const WorkRecord& record) { return nlohmann::json(record).dump(); }

Result<WorkRecord> record_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<WorkRecord>();
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::Io, fmt::format("the checkpoint's record of the run is damaged: {}", error.what()));
  }
}

double Figures::mean() const {
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace cli
}  // namespace lacuna
