#include "bindings/cli/run/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

/// The seconds, the seconds of waiting and the bytes come before the measures. All three add up to a sum.
constexpr std::size_t before_measures = 3;

std::vector<MeasureCell> cells_of(const WorkCost& cost) {
  std::vector<MeasureCell> cells = {{cost.seconds, 1}, {cost.waited, 1}, {cost.payload, 1}};
  for (const MeasureCost& measure : cost.measures) cells.push_back(measure.told);
  return cells;
}

AddsUp adds_up(MeasureTable table, std::size_t cell) {
  return cell < before_measures ? AddsUp::Sum : table[cell - before_measures]->adds_up;
}

/// Returns one value for all ranks, from each rank's own.
double together(AddsUp adds_up, const std::vector<MeasureCell>& ranks) {
  double sum = 0, count = 0, largest = 0;
  for (const MeasureCell& told : ranks) {
    if (adds_up == AddsUp::Sum) {
      sum += told.value;
      ++count;
    } else if (told.times > 0) {
      largest = count > 0 ? std::max(largest, told.value) : told.value;
      sum += told.value;
      count += adds_up == AddsUp::Mean ? static_cast<double>(told.times) : 1;
    }
  }
  if (adds_up == AddsUp::Largest) return largest;
  return count > 0 ? sum / count : 0;
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

Status check_measures(const WorkRecord& record, const MethodOptions& options) {
  const std::vector<MeasureCost> expected = no_measures(options);
  const auto fits = [&](const std::vector<MeasureCost>& known) {
    return std::equal(known.begin(), known.end(), expected.begin(), expected.end(),
                      [](const MeasureCost& a, const MeasureCost& b) { return a.name == b.name; });
  };
  bool all_fit = fits(record.cost.measures);
  for (const Evaluation& one : record.evaluations) all_fit = all_fit && fits(one.cost.together.measures);
  if (all_fit) return {};
  return {Code::InvalidArgument,
          fmt::format("the checkpoint has other measures of '{}' than this version of lacuna: another version has "
                      "written it; --fresh starts anew and removes it",
                      record.label)};
}

Result<CostOfRanks> over_ranks(Communicator& communicator, MeasureTable table, const WorkCost& cost) {
  std::vector<MeasureCell> mine = cells_of(cost);
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<MeasureCell> all(mine.size() * ranks);
  const auto bytes_of = [](auto& cells) {
    return std::span(reinterpret_cast<std::uint8_t*>(cells.data()), cells.size() * sizeof(MeasureCell));
  };
  const std::span<const std::uint8_t> input = bytes_of(mine);
  if (Status gathered = communicator.call(allgather(input, bytes_of(all))); !gathered) return gathered;

  CostOfRanks result{.together = cost};
  std::vector<double> values;
  for (std::size_t cell = 0; cell < mine.size(); ++cell) {
    std::vector<MeasureCell> told;
    std::vector<double>& by_rank = result.by_rank.emplace_back();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      told.push_back(all[rank * mine.size() + cell]);
      by_rank.push_back(told.back().together(adds_up(table, cell)));
    }
    values.push_back(together(adds_up(table, cell), told));
  }
  result.together.seconds = values[0];
  result.together.waited = values[1];
  result.together.payload = values[2];
  for (std::size_t i = 0; i < cost.measures.size(); ++i) {
    result.together.measures[i].told = {values[before_measures + i], 1};
  }
  return result;
}

}  // namespace lacuna::cli
