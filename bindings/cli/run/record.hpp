#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "runtime/values/measure.hpp"

namespace lacuna::cli {

/// The value of one measure of the method after the calls so far: of this rank, or added up over all ranks.
struct MeasureCost {
  std::string name;  ///< "<method>.<measure>"
  MeasureCell told = {};
};

/// What training has cost so far, and given up, without evaluations and checkpoints.
struct Cost {
  double seconds = 0;
  double waited = 0;                       ///< of these, the seconds spent waiting for communication
  double payload = 0;                      ///< bytes sent by one rank
  std::vector<MeasureCost> measures = {};  ///< all of the method's table, in its order
};

/// How things stood after some steps.
struct Evaluation {
  std::uint64_t steps = 0;
  double epochs = 0;  ///< the same in epochs
  Cost cost;          ///< over the ranks
  Metrics metrics;
};

/// What is known of one method.
struct MethodRecord {
  std::string label;
  bool dense = false;  ///< without a method: what the others are compared with
  bool finished = false;
  Cost cost = {};                            ///< this rank's; once finished, over the ranks
  std::vector<Evaluation> evaluations = {};  ///< ascending
};

/// What is known of a run: the methods begun, in the config's order. It is saved with every checkpoint.
using RunRecord = std::vector<MethodRecord>;

std::string to_json(const RunRecord& record);
/// The inverse; Io if the text is not such a record.
Result<RunRecord> record_from_json(const std::string& text);

}  // namespace lacuna::cli
