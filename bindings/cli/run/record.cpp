#include "bindings/cli/run/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
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
  json = {{"name", metric.name}, {"value", json_of(metric.value)}, {"percent", metric.percent}};
}

void from_json(const nlohmann::json& json, Metric& metric) {
  metric.value = number_of(json.at("value"));
  json.at("name").get_to(metric.name);
  json.at("percent").get_to(metric.percent);
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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cost, seconds, waited, payload, measures)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluation, steps, epochs, cost, metrics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MethodRecord, label, dense, finished, cost, evaluations)

std::string to_json(const RunRecord& record) { return nlohmann::json(record).dump(); }

Result<RunRecord> record_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<RunRecord>();
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::Io, fmt::format("the checkpoint's record of the run is damaged: {}", error.what()));
  }
}

}  // namespace cli
}  // namespace lacuna
