#include <fmt/format.h>

#include <limits>

#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/explain/table.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

/// Returns the method's measure that heads a column, if it has one and its plan tells it.
const Measure* headline_of(const Method& method) {
  const Measure* headline = find(method.measures, MeasureRole::Headline);
  return headline && headline->by == CountedBy::Plan ? headline : nullptr;
}
std::string headline_column(const Method& method, std::string_view text) {
  return headline_of(method) ? fmt::format(" {:>5}", text) : std::string();
}

/// Describes an algorithm that serves the method beside itself without the method, or says why it can't do what is
/// asked.
ExplainedRow row_of(const ExplainOptions& options, const Call& call, const MethodAlgorithm& one) {
  const Algorithm& algorithm = *one.algorithm;
  const Method& method = *options.method.method();
  if (const Status valid = method.check ? method.check(call, algorithm, options.hosts) : Status(); !valid) {
    return {.name = one.name, .line = fmt::format(" {}", valid.message()), .figures = {{"refused", valid.message()}}};
  }
  Plan plan;
  make_plan({call, algorithm, options.hosts, std::numeric_limits<std::size_t>::max()}, plan);
  const PartPlan part = part_of(call, algorithm, options.hosts);
  const Structure structure{.parameters = part.structure.parameters};
  const Algorithm& program = part.program ? *part.program : algorithm;
  const Cost cost = cost_of(program, options.hosts, call.count, call.dtype, structure);
  const Cost dense = cost_of(one.dense ? *one.dense : algorithm, options.hosts, call.count, call.dtype);
  const Contributors there = contributors_of(program, options.hosts, call.count, structure);
  ExplainedRow row{.name = one.name, .line = {}, .figures = {{"rounds", cost.steps}}};
  const Measure* headline = headline_of(method);
  if (headline) row.figures[std::string(headline->name)] = plan.measures.value(*headline);
  row.figures["rounds_saved"] = dense.steps - cost.steps;
  row.line = fmt::format("{} {:>6} {:>6}",
                         headline_column(method, headline ? fmt::to_string(plan.measures.value(*headline)) : ""),
                         cost.steps, dense.steps - cost.steps);
  if (cost.depends_on_data) {
    row.line += fmt::format(" {:>14} {:>14}", "by data", "by data");
    return row;
  }
  const double saved = static_cast<double>(dense.total_bytes) - static_cast<double>(cost.total_bytes);
  const double share = dense.total_bytes > 0 ? saved / static_cast<double>(dense.total_bytes) : 0;
  row.seconds = predicted_seconds(cost, options);
  row.figures["busiest_rank_bytes"] = cost.rank_bytes;
  row.figures["all_ranks_bytes"] = cost.total_bytes;
  row.figures["bytes_saved_share"] = share;
  if (there.fewest > 0) row.figures["contributors_fewest"] = there.fewest;
  if (there.fewest > 0) row.figures["contributors_mean"] = there.mean;
  row.line +=
      fmt::format(" {:>14} {:>14} {:>6.1f}% {:>7} {:>6} {:>12}", name_bytes(static_cast<double>(cost.rank_bytes)),
                  name_bytes(static_cast<double>(cost.total_bytes)), 100 * share,
                  there.fewest > 0 ? fmt::to_string(there.fewest) : "-",
                  there.fewest > 0 ? fmt::format("{:.2f}", there.mean) : "-", quantity::Duration::text(*row.seconds));
  return row;
}

}  // namespace

ExplainedTable serving_table(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  const Method& method = *options.method.method();
  const Measure* headline = headline_of(method);
  ExplainedTable table;
  table.head = fmt::format("  {}\n", options.method.text());
  table.head += fmt::format("  {:<22}{} {:>6} {:>6} {:>14} {:>14} {:>7} {:>14} {:>12}\n", "",
                            headline_column(method, ""), "", "rounds", "", "", "bytes", "contributors", "");
  table.head += fmt::format("  {:<22}{} {:>6} {:>6} {:>14} {:>14} {:>7} {:>7} {:>6} {:>12}\n", "algorithm",
                            headline_column(method, headline ? headline->name : ""), "rounds", "saved", "busiest rank",
                            "all ranks", "saved", "fewest", "mean", "predicted");
  for (const MethodAlgorithm& one : method.algorithms) {
    if (one.algorithm->collective != options.collective) continue;
    if (!serves(*one.algorithm, call, options.hosts)) continue;
    table.rows.push_back(row_of(options, call, one));
    table.rows.back().taken = one.algorithm == taken;
  }
  return table;
}

}  // namespace lacuna::cli
