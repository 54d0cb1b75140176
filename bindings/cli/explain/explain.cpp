#include "bindings/cli/explain/explain.hpp"

#include <fmt/format.h>

#include <limits>

#include "algorithms/registry/preferences.hpp"
#include "algorithms/registry/registry.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/explain/sparse.hpp"
#include "bindings/cli/explain/table.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

std::string reason_of_method(const Method& method, const Call& call, const Hosts& hosts) {
  const std::string_view reason = method.reason ? method.reason(call, hosts) : std::string_view();
  return fmt::format("the method {} chooses it{}{}", method.name, reason.empty() ? "" : ": ", reason);
}

std::string reason(const ExplainOptions& options, const Call& call) {
  if (!options.algorithm.empty()) return "it was asked for";
  const Preference* row = preference(call, options.hosts);
  if (asks_for_method(call)) return reason_of_method(*call.options.method.method(), call, options.hosts);
  if (!row) return "it is the first of its collective, and no rule prefers another for this size and number of ranks";
  const bool bounded = row->up_to_bytes < std::numeric_limits<std::size_t>::max();
  return fmt::format("{}{}: {}", bounded ? "up to " + name_bytes(static_cast<double>(row->up_to_bytes)) : "any size",
                     text_of(row->where), row->reason);
}

ExplainedTable table_of(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  if (!asks_for_method(call)) return dense_table(options, call, taken);
  return (expects_bytes(*options.method.method()) ? sparse_table : serving_table)(options, call, taken);
}

/// Says how times are predicted.
std::string text_of_prediction(const ExplainOptions& options) {
  if (options.hosts.count() == 1) {
    return fmt::format("rounds x the time of a message inside a host, from {}", options.inside.from);
  }
  return fmt::format("rounds x {} + the busiest host's bytes at {}, without overlap",
                     quantity::Duration::text(options.latency), quantity::Rate::text(options.rate));
}

void print_text(const ExplainOptions& options, const Call& call, const Algorithm& taken, const ExplainedTable& table) {
  const Hosts& hosts = options.hosts;
  write_out("{} of {}{} on {} of {}: {}\n  {}\n\n{}", to_string(options.collective),
            name_bytes(static_cast<double>(options.bytes)), has_blocks(options.collective) ? " per block" : "",
            count_of(hosts.size(), "rank"), count_of(hosts.count(), "host"), name_of(call, taken),
            reason(options, call), table.head);
  for (const ExplainedRow& row : table.rows) {
    write_out("{} {:<22}{}\n", row.taken ? '>' : ' ', row.name, row.line);
  }
  const std::string quicker = quicker_than_taken(table);
  write_out("{}{}{}{}", table.note.empty() && quicker.empty() ? "" : "\n", table.note, table.note.empty() ? "" : "\n",
            quicker);
  write_out("\n  predicted: {}\n", text_of_prediction(options));
}

void print_json(const ExplainOptions& options, const Call& call, const Algorithm& taken, const ExplainedTable& table) {
  Json json = provenance();
  json["collective"] = to_string(options.collective);
  json["size_bytes"] = options.bytes;
  json["ranks"] = options.hosts.size();
  json["hosts"] = options.hosts.count();
  json["processors"] = options.processors;
  json["method"] = options.method.text();
  json["density"] = options.density;
  json["inside_host"] = options.inside.from;
  json["latency_seconds"] = options.latency;
  json["rate_bytes_per_second"] = options.rate;
  json["algorithm"] = name_of(call, taken);
  json["reason"] = reason(options, call);
  for (const ExplainedRow& row : table.rows) {
    Json figures = {{"algorithm", row.name}, {"taken", row.taken}};
    figures.update(row.figures);
    if (row.seconds) figures["predicted_seconds"] = *row.seconds;
    json["algorithms"].push_back(std::move(figures));
  }
  write_out("{}", json_text(json));
}

}  // namespace

ExplainedTable dense_table(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  ExplainedTable table;
  table.head = fmt::format("  {:<22} {:>6} {:>14} {:>14} {:>14} {:>12}\n", "algorithm", "rounds", "busiest rank",
                           "busiest host", "all ranks", "predicted");
  for (const Algorithm* algorithm : all_algorithms()) {
    if (algorithm->collective != options.collective) continue;
    if (!serves(*algorithm, call, options.hosts)) continue;
    const Cost cost = cost_of(*algorithm, options.hosts, call.count, call.dtype);
    const double seconds = predicted_seconds(cost, options);
    table.rows.push_back(
        {.name = algorithm->name,
         .taken = algorithm == taken,
         .line = fmt::format(" {:>6} {:>14} {:>14} {:>14} {:>12}", cost.steps,
                             name_bytes(static_cast<double>(cost.rank_bytes)),
                             name_bytes(static_cast<double>(cost.host_bytes)),
                             name_bytes(static_cast<double>(cost.total_bytes)), quantity::Duration::text(seconds)),
         .figures = {{"rounds", cost.steps},
                     {"busiest_rank_bytes", cost.rank_bytes},
                     {"busiest_host_bytes", cost.host_bytes},
                     {"all_ranks_bytes", cost.total_bytes}},
         .seconds = seconds});
  }
  return table;
}

int explain(const ExplainOptions& options) {
  Call call{.collective = options.collective, .count = options.bytes / size_of(Dtype::F32)};
  call.options.algorithm = options.algorithm;
  call.options.method = options.method;
  MethodState state;
  call.options.state = &state;
  const auto taken = select_algorithm(call, options.hosts);
  if (!taken) {
    write_error("lacuna explain: {}\n", taken.status().message());
    return 1;
  }
  (options.json ? print_json : print_text)(options, call, **taken, table_of(options, call, *taken));
  return 0;
}

}  // namespace lacuna::cli
