#pragma once

#include "bindings/cli/run/record.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// All measures of the method, of which nothing has been told; none if nothing is given up.
std::vector<MeasureCost> no_measures(const MethodOptions& options);

/// Ok if the record's methods have the measures of these options, in their order. Otherwise another version of lacuna
/// has written it.
Status check_measures(const RunRecord& record, const std::vector<MethodChoice>& methods);

/// The cost over the ranks, from each rank's own; called by all ranks. It is the mean over the ranks, but for measures
/// that do not add up to a sum. Of these it is the largest value of all ranks, the mean of the ranks' last values, or
/// the mean over all calls of all ranks. Ranks that have told nothing of such a measure do not count. The measures of
/// the cost are those of the table.
Result<Cost> over_ranks(Communicator& communicator, MeasureTable table, Cost cost);

}  // namespace lacuna::cli
