#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "runtime/values/measure.hpp"

namespace lacuna::cli {

/// The value of one measure of the method after the calls so far, on this rank or added up over all ranks.
struct MeasureCost {
  std::string name;  ///< "<method>.<measure>"
  MeasureCell told = {};
};

/// What training has cost and given up so far, without evaluations and checkpoints.
struct Cost {
  double seconds = 0;
  double waited = 0;                       ///< how many of these seconds were spent waiting for communication
  double payload = 0;                      ///< bytes sent by one rank
  std::vector<MeasureCost> measures = {};  ///< all measures of the method's table, in its order
};

/// How things stood after some steps.
struct Evaluation {
  std::uint64_t steps = 0;
  double epochs = 0;  ///< the steps, counted in epochs
  Cost cost;          ///< added up over the ranks
  Metrics metrics;
};

/// What is known about one method.
struct MethodRecord {
  std::string label;
  bool dense = false;  ///< without a method; the others are compared with it
  bool finished = false;
  Cost cost = {};                            ///< that of this rank; once finished, over the ranks
  std::vector<Evaluation> evaluations = {};  ///< ascending
};

/// What is known about a run: the methods begun, in the config's order. Every checkpoint saves it.
using RunRecord = std::vector<MethodRecord>;

std::string to_json(const RunRecord& record);
/// Reads the text of a record. It is Io if the text is not such a record.
Result<RunRecord> record_from_json(const std::string& text);

}  // namespace lacuna::cli
