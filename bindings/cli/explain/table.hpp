#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/explain/explain.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna::cli {

/// One algorithm that could serve the call.
struct ExplainedRow {
  std::string_view name;
  bool taken = false;
  std::string line;                 ///< the row of the table, behind the name
  Json figures = Json::object();    ///< the same for --json
  std::optional<double> seconds{};  ///< the predicted time, if there is a prediction
  bool drops = false;               ///< its result lacks sums, which are sent later
};

/// What `lacuna explain` shows of all algorithms.
struct ExplainedTable {
  std::string head;  ///< the lines above the rows
  std::vector<ExplainedRow> rows;
  std::string note{};  ///< a line below the rows
};

/// Returns the lines that name algorithms which are predicted to be quicker than the one that is taken.
std::string quicker_than_taken(const ExplainedTable& table);

/// Returns a text such as "1.25 MiB".
std::string name_bytes(double bytes);

/// Makes the table of a call without a method.
ExplainedTable dense_table(const ExplainOptions& options, const Call& call, const Algorithm* taken);
/// Makes the table of a call with a method whose graphs tell what is left out.
ExplainedTable serving_table(const ExplainOptions& options, const Call& call, const Algorithm* taken);
/// Makes the table of a call with a method that sends as much as the data say.
ExplainedTable sparse_table(const ExplainOptions& options, const Call& call, const Algorithm* taken);

}  // namespace lacuna::cli
