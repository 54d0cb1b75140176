#include "bindings/cli/perf/method.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/perf/data.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

Status sum_over_ranks(Communicator& communicator, std::vector<double>& values) {
  return communicator.call(allreduce<double>(values, values));
}

PerfReport report_of(const Report& mine) {
  PerfReport all{.served = mine.method != nullptr, .measures = mine.measures, .rounds_saved = mine.rounds_saved()};
  double elements = 0, contributions = 0;
  for (const PartReport& part : mine.parts) {
    if (part.count == 0) continue;
    all.fewest = elements == 0 ? part.fewest : std::min(all.fewest, part.fewest);
    elements += static_cast<double>(part.count);
    contributions += static_cast<double>(part.count) * part.mean;
  }
  if (elements > 0) all.contributors = contributions / elements;
  return all;
}

/// Does the call lose nothing, although only its data say how much it sends?
Status find_lossless(Bench& bench, const Call& call, bool& lossless) {
  auto entries = static_cast<double>(bench.entries);
  if (Status status = over_ranks(bench.communicator, Reduction::Max, entries); !status) return status;
  const auto told = call.options.method.method()->lossless;
  lossless = told && told(call, Hosts(bench.communicator.hosts()), static_cast<std::size_t>(entries));
  return {};
}

}  // namespace

std::vector<const Measure*> phases_of(const Method& method) {
  std::vector<const Measure*> phases;
  std::copy_if(method.measures.begin(), method.measures.end(), std::back_inserter(phases),
               [](const Measure* measure) { return measure->is_time_of_kernels(); });
  return phases;
}

double PerfFigures::wire() const {
  return std::max(0.0, microseconds - std::accumulate(phases.begin(), phases.end(), 0.0));
}

Status over_ranks(Communicator& communicator, Reduction reduction, double& value) {
  const std::span one(&value, 1);
  return communicator.call(allreduce(one, one, reduction));
}

Status check_once(Bench& bench, std::size_t chunk_bytes, PerfFigures& figures) {
  if (Status ready = bench.prepare(); !ready) return ready;
  Call call = bench.call();
  const bool by_data = depends_on_data(call, Hosts(bench.communicator.hosts()));
  bool exact = !by_data;
  if (by_data) {
    if (Status found = find_lossless(bench, call, exact); !found) return found;
  }
  const Sampler before = bench.sampler;
  if (Status status = bench.round(call, 1); !status) return status;
  MethodState unused;  // as prepare() has made it
  if (call.options.state) call.options.state = &unused;
  if (by_data) call.options.method = {};  // its graphs do not tell what lacks
  const PerfResult result{.call = call,
                          .sampler = before,
                          .rank = bench.communicator.rank(),
                          .size = bench.communicator.size(),
                          .chunk_bytes = chunk_bytes,
                          .hosts = Hosts(bench.communicator.hosts()),
                          .pattern = bench.pattern ? &*bench.pattern : nullptr};
  const std::vector<std::byte> output = bench.output_of(call);
  const SquaredError error = by_data ? squared_error(result, output) : SquaredError();
  std::vector<double> sums = {exact ? static_cast<double>(count_wrong(result, output)) : 0, error.off, error.dense};
  if (Status status = sum_over_ranks(bench.communicator, sums); !status) return status;
  if (exact) figures.wrong = static_cast<std::size_t>(sums[0]);
  if (by_data) figures.error = sums[1] > 0 ? std::sqrt(sums[1] / sums[2]) : 0;
  return {};
}

Status measure_report(Bench& bench, const Report& mine, PerfReport& report) {
  const Method& method = *bench.options.method.method();
  const Call call = bench.call();
  const auto share = [](double entries, std::size_t elements) {
    return elements > 0 ? entries / static_cast<double>(elements) : 0;
  };
  const Rank size = bench.communicator.size();
  const Measure *selected = find(method.measures, MeasureRole::Selected),
                *result = find(method.measures, MeasureRole::Result);
  std::vector<double> sums = {static_cast<double>(mine.sent), static_cast<double>(mine.dense_sent),
                              selected ? share(mine.measures.value(*selected), input_length(call, size)) : 0,
                              result ? share(mine.measures.value(*result), output_length(call, size)) : 0};
  if (Status added = sum_over_ranks(bench.communicator, sums); !added) return added;
  report = report_of(mine);
  if (sums[1] > 0) report.bytes_saved = 1 - sums[0] / sums[1];
  report.density_in = sums[2] / size;
  report.density_out = sums[3] / size;
  return {};
}

Phases::Phases(Bench& bench) : bench_(bench), before_(seconds()) {}

std::vector<double> Phases::seconds() const {
  std::vector<double> all;
  const Method* method = bench_.options.method.method();
  if (!method) return all;
  std::vector<MethodCounters> methods = bench_.communicator.job_counters().methods();
  const MethodCounters& counted = counters_of(methods, *method);
  for (const Measure* phase : phases_of(*method)) all.push_back(counted.measures.value(*phase));
  return all;
}

Status Phases::measure(PerfFigures& figures) {
  std::vector<double>& phases = figures.phases = seconds();
  if (phases.empty()) return {};
  for (std::size_t i = 0; i < phases.size(); ++i) phases[i] -= before_[i];
  if (Status added = sum_over_ranks(bench_.communicator, phases); !added) return added;
  const double calls = 1.0 * figures.iterations * bench_.options.operations;
  for (double& phase : phases) phase *= 1e6 / bench_.communicator.size() / calls;
  return {};
}

}  // namespace lacuna::cli
