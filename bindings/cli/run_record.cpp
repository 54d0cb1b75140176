#include "bindings/cli/run_record.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace lacuna {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Metric, name, value, percent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Metrics, values, fingerprint)

namespace cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cost, seconds, waited, payload)
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
