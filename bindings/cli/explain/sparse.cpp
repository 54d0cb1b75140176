#include "bindings/cli/explain/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/phases/predictions.hpp"

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

/// Returns "-" where ranks share hosts, because they send some of the bytes over no link.
std::string predicted(const ExplainOptions& options, const SparseCost& cost) {
  if (options.hosts.count() < options.hosts.size()) return "-";
  return fmt::format("{:.1f} us", (cost.steps * options.latency + cost.path_bytes / options.rate) * 1e6);
}

struct Line {
  const MethodAlgorithm* algorithm;
  std::string refused;
  std::optional<SparseCost> cost;
};

Line line_of(const ExplainOptions& options, const Call& call, const MethodAlgorithm& one) {
  const auto check = options.method.method()->check;
  const Status valid = check ? check(call, *one.algorithm, options.hosts) : Status();
  if (!valid) return {&one, std::string(valid.message()), {}};
  return {&one, {}, sparse_cost(options, call, one)};
}

void show_line(const ExplainOptions& options, const Line& line, bool taken) {
  const char mark = taken ? '>' : ' ';
  if (!line.cost) {
    return fmt::print("{} {:<22} {}\n", mark, line.algorithm->name, line.refused.empty() ? "by data" : line.refused);
  }
  const SparseCost& cost = *line.cost;
  const double saved = cost.dense_bytes > 0 ? 100 * (1 - cost.bytes / cost.dense_bytes) : 0;
  fmt::print("{} {:<22} {:>6} {:>6} {:>14} {:>14} {:>6.1f}% {:>10.4f} {:>15}\n", mark, line.algorithm->name, cost.steps,
             cost.dense_steps - cost.steps, name_bytes(cost.bytes), name_bytes(cost.dense_bytes), saved,
             cost.dense_density, predicted(options, cost));
}

/// Shows which algorithm sends least. Algorithms that drop sums count only if all of them do.
void show_least(const std::vector<Line>& lines) {
  const auto sends_less = [](const SparseCost& a, const SparseCost& b) {
    return a.drops != b.drops ? b.drops : a.bytes < b.bytes;
  };
  const Line* least = nullptr;
  for (const Line& line : lines) {
    if (line.cost && (!least || sends_less(*line.cost, *least->cost))) least = &line;
  }
  if (!least) return;
  const bool dense = least->cost->bytes > least->cost->dense_bytes;
  fmt::print("\n  {} sends least; each rank sends {:.0f} entries, the result has {:.0f}\n",
             dense ? "the dense call" : least->algorithm->name, least->cost->entries, least->cost->result);
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

void show_sparse(const ExplainOptions& options, const Call& call, const Algorithm* taken) {
  fmt::print("  {}\n  {}\n", options.method.text(), spread_text(options));
  fmt::print("  {:<22} {:>6} {:>6} {:>14} {:>14} {:>7} {:>10} {:>15}\n", "", "", "rounds", "bytes", "", "bytes",
             "dense wins", "");
  fmt::print("  {:<22} {:>6} {:>6} {:>14} {:>14} {:>7} {:>10} {:>15}\n", "algorithm", "rounds", "saved", "of a rank",
             "dense", "saved", "from", "predicted");
  std::vector<Line> lines;
  for (const MethodAlgorithm& one : options.method.method()->algorithms) {
    if (one.algorithm->collective != options.collective) continue;
    if (one.algorithm->supports && !one.algorithm->supports(call, options.hosts)) continue;
    lines.push_back(line_of(options, call, one));
    show_line(options, lines.back(), one.algorithm == taken);
  }
  show_least(lines);
}

}  // namespace lacuna::cli
