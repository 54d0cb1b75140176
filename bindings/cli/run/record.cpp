#include "bindings/cli/run/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace lacuna {

/// JSON has no number that is not finite: such a value is a text.
void to_json(nlohmann::json& json, const Metric& metric) {
  json = {{"name", metric.name}, {"value", metric.value}, {"percent", metric.percent}};
  if (!std::isfinite(metric.value)) json["value"] = fmt::to_string(metric.value);
}

void from_json(const nlohmann::json& json, Metric& metric) {
  const nlohmann::json& value = json.at("value");
  metric.value = value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
  json.at("name").get_to(metric.name);
  json.at("percent").get_to(metric.percent);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Metrics, values, fingerprint, details)

namespace cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Cost, seconds, waited, payload, numbers)
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
