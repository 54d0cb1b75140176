#include "bindings/cli/explain/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/phases/predictions.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/explain/table.hpp"
#include "bindings/cli/shared/quantities.hpp"

namespace lacuna::cli {
namespace {

/// Returns the share of all places from which on a rank that sends this share sends `bytes` or more.
double density_of(ExpectedPart part, double (*expected)(const ExpectedPart&), double bytes) {
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    part.entries = middle * part.places;
    (expected(part) < bytes ? low : high) = middle;
  }
  return high;
}

Spread spread_of(const ExplainOptions& options, std::size_t places) {
  if (options.fill_in) return spread_by_growth(*options.fill_in);
  return [asked = options.pattern, places, made = std::optional<Pattern>()](double density, double ranks,
                                                                            std::size_t block) mutable {
    if (!made || density != asked.density) {
      asked.density = density;
      made.emplace(asked, places);
    }
    return made->share(ranks, block);
  };
}

std::string spread_text(const ExplainOptions& options) {
  if (options.fill_in) return fmt::format("s ranks have s^{} times the entries of one", *options.fill_in);
  if (options.pattern.kind == PatternOptions::Kind::Uniform) return "entries lie where each rank has drawn them";
  return fmt::format("entries lie as in the pattern {}", options.pattern.text);
}

/// Returns the rounds of most runs.
int steps_of(const MethodAlgorithm& one, const ExpectedPart& part, const Hosts& hosts) {
  if (one.predictions && one.predictions->rounds) return one.predictions->rounds(part);
  if (one.rounds) return one.rounds(part.plan, part.size);
  const Call& call = part.call;
  return cost_of(*one.algorithm, hosts, call.count, call.dtype, {.parameters = part.plan.structure.parameters}).steps;
}

/// Returns nothing where ranks share hosts, because they send some of the bytes over no link.
std::optional<double> predicted(const ExplainOptions& options, const SparseCost& cost) {
  if (options.hosts.count() < options.hosts.size()) return std::nullopt;
  return cost.steps * options.latency + cost.path_bytes / options.rate;
}

ExplainedRow row_of(const ExplainOptions& options, const MethodAlgorithm& one, const SparseCost& cost) {
  const double saved = cost.dense_bytes > 0 ? 1 - cost.bytes / cost.dense_bytes : 0;
  const std::optional<double> seconds = predicted(options, cost);
  return {.name = one.name,
          .line = fmt::format(" {:>6} {:>6} {:>14} {:>14} {:>6.1f}% {:>10.4f} {:>12}", cost.steps,
                              cost.dense_steps - cost.steps, name_bytes(cost.bytes), name_bytes(cost.dense_bytes),
                              100 * saved, cost.dense_density, seconds ? quantity::Duration::text(*seconds) : "-"),
          .figures = {{"rounds", cost.steps},
                      {"rounds_saved", cost.dense_steps - cost.steps},
                      {"rank_bytes", cost.bytes},
                      {"dense_rank_bytes", cost.dense_bytes},
                      {"bytes_saved_share", saved},
                      {"dense_wins_from_density", cost.dense_density},
                      {"rank_entries", cost.entries},
                      {"result_entries", cost.result},
                      {"drops_sums", cost.drops}},
          .seconds = seconds,
          .drops = cost.drops};
}

/// An algorithm with what it is expected to cost, if that is known.
struct Expected {
  std::string_view name;
  SparseCost cost;
};

/// Says which algorithm sends least. Algorithms that drop sums count only if all of them do.
std::string least_text(const std::vector<Expected>& all) {
  const auto least = std::min_element(all.begin(), all.end(), [](const Expected& a, const Expected& b) {
    return a.cost.drops != b.cost.drops ? b.cost.drops : a.cost.bytes < b.cost.bytes;
  });
  if (least == all.end()) return {};
  const SparseCost& cost = least->cost;
  return fmt::format("  {} sends least; each rank sends {:.0f} entries, the result has {:.0f}",
                     cost.bytes > cost.dense_bytes ? "the dense call" : least->name, cost.entries, cost.result);
}

}  // namespace

bool expects_bytes(const Method& method) {
  return std::any_of(method.algorithms.begin(), method.algorithms.end(),
                     [](const MethodAlgorithm& one) { return one.predictions != nullptr; });
}

std::optional<SparseCost> sparse_cost(const ExplainOptions& options, const Call& call, const MethodAlgorithm& one) {
  if (!one.predictions) return std::nullopt;
  const Predictions& expects = *one.predictions;
  const Hosts& hosts = options.hosts;
  const PartPlan plan = part_of(call, *one.algorithm, hosts);
  const Rank size = hosts.size();
  const std::size_t length = input_length(call, size);
  const double places = static_cast<double>(length), there = options.density * places;
  const double most = expects.most_entries ? static_cast<double>(expects.most_entries(plan)) : there;
  const ExpectedPart part{.call = call,
                          .plan = plan,
                          .size = size,
                          .places = places,
                          .entries = std::min(most, there),
                          .spread = spread_of(options, length)};
  const Cost dense = cost_of(one.dense ? *one.dense : *one.algorithm, hosts, call.count, call.dtype);
  SparseCost cost{.entries = part.entries,
                  .result = traits_of(call.collective).reduces ? part.entries_of(size) : part.entries * size,
                  .bytes = expects.bytes(part),
                  .path_bytes = expects.path_bytes ? expects.path_bytes(part) : expects.bytes(part),
                  .dense_bytes = static_cast<double>(dense.total_bytes) / size,
                  .steps = steps_of(one, part, hosts),
                  .dense_steps = dense.steps};
  if (expects.result_entries) {
    const double all = std::exchange(cost.result, expects.result_entries(part));
    cost.drops = cost.result < all;
  }
  cost.dense_density = density_of(part, expects.bytes, cost.dense_bytes);
  return cost;
}

ExplainedTable sparse_table(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  ExplainedTable table;
  table.head = fmt::format("  {}\n  {}\n", options.method.text(), spread_text(options));
  table.head += fmt::format("  {:<22} {:>6} {:>6} {:>14} {:>14} {:>7} {:>10} {:>12}\n", "", "", "rounds", "bytes", "",
                            "bytes", "dense wins", "");
  table.head += fmt::format("  {:<22} {:>6} {:>6} {:>14} {:>14} {:>7} {:>10} {:>12}\n", "algorithm", "rounds", "saved",
                            "of a rank", "dense", "saved", "from", "predicted");
  std::vector<Expected> expected;
  const Method& method = *options.method.method();
  for (const MethodAlgorithm& one : method.algorithms) {
    if (one.algorithm->collective != options.collective) continue;
    if (!serves(*one.algorithm, call, options.hosts)) continue;
    const Status valid = method.check ? method.check(call, *one.algorithm, options.hosts) : Status();
    const auto cost = valid ? sparse_cost(options, call, one) : std::nullopt;
    if (cost) {
      table.rows.push_back(row_of(options, one, *cost));
      expected.push_back({one.name, *cost});
    } else if (valid) {
      table.rows.push_back({.name = one.name, .line = " by data"});
    } else {
      table.rows.push_back(
          {.name = one.name, .line = fmt::format(" {}", valid.message()), .figures = {{"refused", valid.message()}}});
    }
    table.rows.back().taken = one.algorithm == taken;
  }
  table.note = least_text(expected);
  return table;
}

}  // namespace lacuna::cli
