#include "bindings/cli/run/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/phases/predictions.hpp"
#include "algorithms/registry/registry.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/explain/sparse.hpp"
#include "bindings/cli/run/gradient_calls.hpp"
#include "bindings/cli/run/kept_work.hpp"
#include "bindings/cli/run/work.hpp"
#include "bindings/cli/shared/number_table.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

/// In place of bytes that the data decide.
constexpr double by_data = std::numeric_limits<double>::quiet_NaN();

/// What one allreduce of a gradient takes.
struct Predicted {
  std::string algorithm;
  double bytes = by_data;  ///< sent by a rank, on average
};

/// Returns the bytes that a rank sends on average, if they do not depend on the data. A method that sends a number of
/// entries is expected to find so many.
double bytes_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  const Method* method = asks_for_method(call) ? call.options.method.method() : nullptr;
  if (method && expects_bytes(*method)) {
    const auto serves = [&](const MethodAlgorithm& one) { return one.algorithm == &algorithm; };
    const auto one = std::find_if(method->algorithms.begin(), method->algorithms.end(), serves);
    if (one == method->algorithms.end() || !one->predictions || !one->predictions->most_entries) return by_data;
    const ExplainOptions options{.hosts = hosts, .method = call.options.method};
    const auto cost = sparse_cost(options, call, *one);
    return cost ? cost->bytes : by_data;
  }
  const PartPlan part = part_of(call, algorithm, hosts);
  const Cost cost = cost_of(part.program ? *part.program : algorithm, hosts, call.count, call.dtype,
                            {.parameters = part.structure.parameters});
  if (cost.depends_on_data) return by_data;
  return static_cast<double>(cost.total_bytes) / hosts.size();
}

Result<Predicted> predicted(const MethodChoice& choice, const GradientShape& gradient, const Hosts& hosts) {
  MethodState state;
  const Call call = call_of(choice, gradient, state);
  const auto algorithm = select_algorithm(call, hosts);
  if (!algorithm) return algorithm.status();
  return Predicted{.algorithm = std::string(name_of(call, **algorithm)), .bytes = bytes_of(call, **algorithm, hosts)};
}

/// Returns the line of one work: name, steps done and left, algorithms, bytes of a step and of all steps.
Result<Row> row_of(const RunConfig& config, const Work& work, std::uint64_t done, std::uint64_t steps,
                   const Hosts& hosts) {
  const MethodChoice& choice = config.methods[work.method];
  const std::vector<GradientShape> gradients =
      config.workload->gradients({.method = choice, .seed = work.seed, .steps = steps});
  std::vector<std::string> algorithms;
  double bytes = gradients.empty() ? by_data : 0;
  for (const GradientShape& gradient : gradients) {
    const Result<Predicted> one = predicted(choice, gradient, hosts);
    if (!one) return one.status();
    algorithms.push_back(one->algorithm);
    bytes += one->bytes;
  }
  const auto text = [&](double times) { return std::isnan(bytes) ? "by data" : bytes_text(times * bytes); };
  return Row{name_of(config, work),
             fmt::to_string(done),
             fmt::to_string(steps - done),
             gradients.empty() ? "-" : each_once(algorithms),
             fmt::to_string(gradients.size()),
             text(1),
             text(static_cast<double>(steps))};
}

std::string steps_text(const RunConfig& config, std::uint64_t steps, std::uint64_t per_epoch) {
  const std::string text = count_of(steps, "step");
  if (!config.workload->has_epochs()) return text;
  return fmt::format("{}, which are {:.2f} epochs of {}", text,
                     static_cast<double>(steps) / static_cast<double>(per_epoch), per_epoch);
}

std::string evaluations_text(const RunConfig& config, std::uint64_t per_epoch) {
  const std::string text =
      config.workload->has_epochs() ? "after each epoch" : fmt::format("every {}", count_of(per_epoch, "step"));
  if (config.evaluate_every == 0) return text;
  return fmt::format("{} and every {}", text, count_of(config.evaluate_every, "step"));
}

}  // namespace

Result<std::string> dry_run(RunConfig& config, const Hosts& hosts) {
  if (Status loaded = config.workload->load(); !loaded) return loaded;
  const Result<std::uint64_t> per_epoch = config.workload->steps_per_epoch(hosts.size());
  if (!per_epoch) return per_epoch.status();
  const std::uint64_t steps = steps_of(config, *per_epoch);
  const std::vector<Work> work = work_of(config, steps);
  const Result<std::vector<std::int64_t>> sets = newest_sets(config, work, hosts.size(), steps);
  if (!sets) return sets.status();
  std::vector<Row> rows = {
      {"method", "steps done", "left", "algorithm", "gradients", "payload per step and rank", "of all steps"}};
  for (std::size_t i = 0; i < work.size(); ++i) {
    Result<Row> row =
        row_of(config, work[i], static_cast<std::uint64_t>(std::max<std::int64_t>((*sets)[i], 0)), steps, hosts);
    if (!row) return row.status();
    rows.push_back(*std::move(row));
  }
  return fmt::format(
      "{}\noutput: {}\neach method and seed does {}; evaluated {}, saved {}\n\n{}\n"
      "The payload is predicted for the first call of each gradient. Later calls may send more or less, if a method "
      "has a "
      "warm-up or a schedule, or looks at the data.\n",
      config.values, config.output.string(), steps_text(config, steps, *per_epoch),
      evaluations_text(config, *per_epoch),
      config.checkpoint_every > 0 ? fmt::format("every {} and at the end", count_of(config.checkpoint_every, "step"))
                                  : "at the end",
      aligned(rows));
}

}  // namespace lacuna::cli
