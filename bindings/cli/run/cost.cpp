#include "bindings/cli/run/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

/// For measures that add up to a mean or to a last value: adds up the values over the ranks, and counts them.
Status add_means(Communicator& communicator, MeasureTable table, std::vector<MeasureCost>& measures) {
  std::vector<double> sums;
  const auto each = [&](auto visit) {
    for (std::size_t i = 0; i < measures.size(); ++i) {
      const AddsUp adds_up = table[i]->adds_up;
      if (adds_up == AddsUp::Mean || adds_up == AddsUp::Last) visit(adds_up, measures[i].told);
    }
  };
  each([&](AddsUp adds_up, const MeasureCell& told) {
    const bool any = told.times > 0;
    sums.insert(sums.end(), {told.value, adds_up == AddsUp::Mean ? static_cast<double>(told.times) : any ? 1.0 : 0.0});
  });
  if (sums.empty()) return {};
  if (Status added = communicator.call(allreduce(sums, sums)); !added) return added;
  std::size_t next = 0;
  each([&](AddsUp, MeasureCell& told) {
    told = {sums[next + 1] > 0 ? sums[next] / sums[next + 1] : 0, 1};
    next += 2;
  });
  return {};
}

Status find_largest(Communicator& communicator, MeasureTable table, std::vector<MeasureCost>& measures) {
  std::vector<double> largest;
  const auto each = [&](auto visit) {
    for (std::size_t i = 0; i < measures.size(); ++i) {
      if (table[i]->adds_up == AddsUp::Largest) visit(measures[i].told);
    }
  };
  each([&](const MeasureCell& told) { largest.push_back(told.times > 0 ? told.value : nothing); });
  if (largest.empty()) return {};
  if (Status found = communicator.call(allreduce(largest, largest, Reduction::Max)); !found) return found;
  std::size_t next = 0;
  each([&](MeasureCell& told) {
    told = {largest[next] == nothing ? 0 : largest[next], 1};
    ++next;
  });
  return {};
}

}  // namespace

std::vector<MeasureCost> no_measures(const MethodOptions& options) {
  std::vector<MeasureCost> measures;
  if (!is_on(options)) return measures;
  for (const Measure* measure : options.method()->measures) {
    measures.push_back({.name = fmt::format("{}.{}", options.method()->name, measure->name)});
  }
  return measures;
}

Status check_measures(const RunRecord& record, const std::vector<MethodChoice>& methods) {
  const auto fits = [](const std::vector<MeasureCost>& known, const std::vector<MeasureCost>& expected) {
    return std::equal(known.begin(), known.end(), expected.begin(), expected.end(),
                      [](const MeasureCost& a, const MeasureCost& b) { return a.name == b.name; });
  };
  for (std::size_t i = 0; i < std::min(record.size(), methods.size()); ++i) {
    const std::vector<MeasureCost> expected = no_measures(methods[i].options);
    bool all_fit = fits(record[i].cost.measures, expected);
    for (const Evaluation& one : record[i].evaluations) all_fit = all_fit && fits(one.cost.measures, expected);
    if (all_fit) continue;
    return {Code::InvalidArgument,
            fmt::format("the checkpoint has other measures of '{}' than this version of lacuna: another version has "
                        "written it; --fresh starts anew and removes it",
                        record[i].label)};
  }
  return {};
}

Result<Cost> over_ranks(Communicator& communicator, MeasureTable table, Cost cost) {
  std::vector<double> means = {cost.seconds, cost.waited, cost.payload};
  for (const MeasureCost& measure : cost.measures) means.push_back(measure.told.value);
  if (Status averaged = communicator.call(allreduce(means, means, Reduction::Avg)); !averaged) return averaged;
  cost.seconds = means[0];
  cost.waited = means[1];
  cost.payload = means[2];
  for (std::size_t i = 0; i < cost.measures.size(); ++i) {
    if (table[i]->adds_up == AddsUp::Sum) cost.measures[i].told = {means[3 + i], 1};
  }
  if (Status added = add_means(communicator, table, cost.measures); !added) return added;
  if (Status found = find_largest(communicator, table, cost.measures); !found) return found;
  return cost;
}

}  // namespace lacuna::cli
