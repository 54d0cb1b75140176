#include "runtime/values/measure.hpp"

namespace lacuna {
namespace {

template <class Property>
const Measure* first_with(MeasureTable table, Property property) {
  const auto found = std::find_if(table.begin(), table.end(), property);
  return found == table.end() ? nullptr : *found;
}

/// Does a cell hold a sum?
bool grows(AddsUp adds_up) { return adds_up == AddsUp::Sum || adds_up == AddsUp::Mean; }

}  // namespace

std::string_view to_string(Unit unit) {
  constexpr std::string_view names[] = {"calls",  "rounds", "parts",   "elements",  "entries",
                                        "blocks", "words",  "seconds", "magnitude", "ratio"};
  return names[static_cast<std::size_t>(unit)];
}

std::string_view to_string(AddsUp adds_up) {
  constexpr std::string_view names[] = {"sum", "largest", "last", "mean"};
  return names[static_cast<std::size_t>(adds_up)];
}

std::string_view to_string(CountedBy by) { return by == CountedBy::Plan ? "plan" : "kernels"; }

const Measure* find(MeasureTable table, MeasureRole role) {
  return first_with(table, [role](const Measure* measure) { return measure->role == role; });
}

const Measure* find(MeasureTable table, std::string_view name) {
  return first_with(table, [name](const Measure* measure) { return measure->name == name; });
}

void MeasureCell::tell(AddsUp adds_up, double told) { add(adds_up, {told, 1}); }

void MeasureCell::add(AddsUp adds_up, const MeasureCell& more) {
  if (more.times == 0) return;
  switch (adds_up) {
    case AddsUp::Sum:
    case AddsUp::Mean:
      value += more.value;
      break;
    case AddsUp::Largest:
      value = times == 0 ? more.value : std::max(value, more.value);
      break;
    case AddsUp::Last:
      value = more.value;
      break;
  }
  times += more.times;
}

void MeasureValues::begin(MeasureTable table) {
  cells_.assign(table.size(), {});
  table_ = table;
}

void MeasureValues::restart() {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!grows(table_[i]->adds_up)) cells_[i] = {};
  }
}

void MeasureValues::tell(const Measure& measure, double value) {
  const std::size_t row = place_of(measure);
  if (row < cells_.size()) cells_[row].tell(measure.adds_up, value);
}

void MeasureValues::retime(double seconds) {
  double told = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) told += table_[i]->is_time_of_kernels() ? cells_[i].value : 0;
  for (std::size_t i = 0; i < cells_.size() && told > 0; ++i) {
    if (table_[i]->is_time_of_kernels()) cells_[i].value *= seconds / told;
  }
}

void MeasureValues::add(const MeasureValues& more) {
  if (cells_.empty()) begin(more.table_);
  for (std::size_t i = 0; i < more.cells_.size(); ++i) cells_[i].add(table_[i]->adds_up, more.cells_[i]);
}

void MeasureValues::add_call(const MeasureValues& call) {
  if (cells_.empty()) begin(call.table_);
  for (std::size_t i = 0; i < call.cells_.size(); ++i) {
    if (call.cells_[i].times > 0) cells_[i].tell(table_[i]->adds_up, call.value(i));
  }
}

void MeasureValues::subtract(const MeasureValues& before) {
  for (std::size_t i = 0; i < before.cells_.size(); ++i) {
    if (!grows(table_[i]->adds_up)) continue;
    cells_[i].value -= before.cells_[i].value;
    cells_[i].times -= before.cells_[i].times;
  }
}

double MeasureValues::value(std::string_view name) const {
  const Measure* measure = find(table_, name);
  return measure ? value(*measure) : 0;
}

std::uint64_t MeasureValues::times(const Measure& measure) const {
  const std::size_t row = place_of(measure);
  return row < cells_.size() ? cells_[row].times : 0;
}

}  // namespace lacuna
