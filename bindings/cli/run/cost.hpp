#pragma once

#include "bindings/cli/run/record.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// Returns all measures of the method without any values. Returns none if nothing is given up.
std::vector<MeasureCost> no_measures(const MethodOptions& options);

/// Returns Ok if the record has the measures of the method, in their order. Otherwise another version of lacuna has
/// written the record.
Status check_measures(const WorkRecord& record, const MethodOptions& options);

/// Returns the cost over all ranks, from each rank's own. All ranks call it. Together it is the mean over the ranks,
/// except for measures that do not add up to a sum. Of these it is the largest value of all ranks, the mean of the
/// ranks' last values, or the mean over all calls of all ranks. Ranks without a value of such a measure do not count.
/// The measures of the cost are those of the table.
Result<CostOfRanks> over_ranks(Communicator& communicator, MeasureTable table, const WorkCost& cost);

}  // namespace lacuna::cli
