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
struct WorkCost {
  double seconds = 0;
  double waited = 0;                       ///< how many of these seconds were spent waiting for communication
  double payload = 0;                      ///< bytes sent by one rank
  std::vector<MeasureCost> measures = {};  ///< all measures of the method's table, in its order
};

/// What costs are over all ranks.
struct CostOfRanks {
  WorkCost together = {};  ///< see over_ranks()
  /// The values of each rank: of seconds, waited, payload and then of each measure, one for each rank.
  std::vector<std::vector<double>> by_rank = {};
};

/// The figures that steps return, such as a training loss: means over the ranks, added up step by step.
struct Figures {
  double sum = 0;
  std::uint64_t count = 0;

  /// Returns NaN if there are none.
  double mean() const;
};

/// How things stood after some steps.
struct Evaluation {
  std::uint64_t steps = 0;
  double epochs = 0;      ///< the steps, counted in epochs
  Figures figures = {};   ///< of the steps since the evaluation before
  CostOfRanks cost = {};  ///< of all steps so far
  Metrics metrics = {};
};

/// What is known about the work of one method with one seed.
struct WorkRecord {
  std::string label;
  std::uint64_t seed = 0;
  bool dense = false;                        ///< without a method; the others are compared with it
  bool finished = false;                     ///< all steps are done
  std::string algorithms{};                  ///< those of its gradients, each once; empty if they are not known
  std::uint64_t steps = 0;                   ///< how many are done
  WorkCost cost = {};                        ///< that of this rank
  Figures figures = {};                      ///< of the steps since the last evaluation
  std::vector<Evaluation> evaluations = {};  ///< ascending

  bool has_begun() const { return steps > 0; }
};

/// What is known about all work of a run, in its order. Every checkpoint saves the record of its work.
using RunRecord = std::vector<WorkRecord>;

std::string to_json(const WorkRecord& record);
/// Reads the text of a record. It is Io if the text is not such a record.
Result<WorkRecord> record_from_json(const std::string& text);

}  // namespace lacuna::cli
