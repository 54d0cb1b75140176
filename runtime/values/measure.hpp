#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lacuna {

/// The unit of a measure.
enum class Unit : std::uint8_t {
  Calls,
  Rounds,     ///< messages that wait for each other
  Parts,      ///< of a plan
  Elements,   ///< of the data
  Entries,    ///< elements that travel with their places
  Blocks,     ///< consecutive elements that travel together
  Words,      ///< places or values that travel
  Seconds,    ///< of time
  Magnitude,  ///< the absolute value of an element
  Ratio,      ///< a number without a unit
};
std::string_view to_string(Unit unit);

/// How the values of a measure become one: those that the kernels of one call tell, and those of several calls.
enum class AddsUp : std::uint8_t {
  Sum,
  Largest,
  Last,  ///< the value that was told last
  Mean,  ///< within a call: of the values that were told; of several calls: each call that has told any counts the same
};
std::string_view to_string(AddsUp adds_up);

/// Who tells the values of a measure.
enum class CountedBy : std::uint8_t {
  Plan,     ///< Method::plan, before the call begins: the value is the same on all ranks
  Kernels,  ///< the kernels of a rank, while the call runs
};
std::string_view to_string(CountedBy by);

/// What tools may take a measure for. A method has at most one measure of each role, except of None.
enum class MeasureRole : std::uint8_t {
  None,
  Headline,  ///< says best how much is given up: `lacuna perf` and `lacuna explain` have a column for it
  Asked,     ///< entries that each rank was to send
  Selected,  ///< entries that a rank has selected of its own data, to be sent
  Result,    ///< how many elements of a rank's output are not zero
};

/// A row of a method's table of measures: what the method reports about its calls beside what all methods report. Each
/// measure is a constant of the method, or of a library that several methods share. Plans, kernels and readers name a
/// measure by this constant, so it must not be copied. Nothing depends on how the name is spelled, or on where the row
/// stands in a table. Times that kernels take have the unit Seconds.
struct Measure {
  std::string_view name{};  ///< unique in its table
  std::string_view help{};  ///< one line
  Unit unit = Unit::Calls;
  AddsUp adds_up = AddsUp::Sum;
  CountedBy by = CountedBy::Kernels;
  MeasureRole role = MeasureRole::None;

  /// Are these seconds that kernels took, which add up?
  constexpr bool is_time_of_kernels() const {
    return unit == Unit::Seconds && by == CountedBy::Kernels && adds_up == AddsUp::Sum;
  }
};

/// The rows of a method's table, in the order in which tools show them.
using MeasureTable = std::span<const Measure* const>;

/// A table of the rows of two, for a method that uses the measures of a library beside its own.
template <std::size_t N, std::size_t M>
constexpr std::array<const Measure*, N + M> joined(const std::array<const Measure*, N>& first,
                                                   const std::array<const Measure*, M>& second) {
  std::array<const Measure*, N + M> all{};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

/// The row with this role, or null.
const Measure* find(MeasureTable table, MeasureRole role);
/// The row of this name, or null.
const Measure* find(MeasureTable table, std::string_view name);

/// Values of one measure, taken together.
struct MeasureCell {
  double value = 0;         ///< the sum, the largest or the last of the values; for a mean their sum
  std::uint64_t times = 0;  ///< how many values were told; in counters, how many calls have told any

  void tell(AddsUp adds_up, double told);
  void add(AddsUp adds_up, const MeasureCell& more);
  /// 0 if nothing was told.
  double together(AddsUp adds_up) const {
    return adds_up == AddsUp::Mean && times > 0 ? value / static_cast<double>(times) : value;
  }
};

/// The values of all measures of a table: those that one kernel has told, or one call, or many calls. The object keeps
/// its memory when it begins anew. So it allocates only for a table that is longer than all before.
/// Thread rule: one thread at a time.
class MeasureValues {
 public:
  /// Begins anew with this table, which must outlive this object.
  void begin(MeasureTable table);
  /// Begins anew for measures that are a largest or a last value. Sums and means go on.
  void restart();

  /// Adds a value. A kernel that several methods share may tell measures that the method of the call lacks: these
  /// values are dropped.
  void tell(const Measure& measure, double value);
  /// Makes the times of kernels that were told since begin() add up to so many seconds. Each keeps its share. A device
  /// takes longer than the host, which only gives it its work.
  void retime(double seconds);
  /// Adds all that was told to another object with the same table. An object that has no table yet takes that one's.
  void add(const MeasureValues& more);
  /// Adds the values of one call: one value of each measure that was told there.
  void add_call(const MeasureValues& call);
  /// Takes away what `before` holds, a copy that was made after restart().
  void subtract(const MeasureValues& before);

  MeasureTable table() const { return table_; }
  /// In the order of the table.
  std::span<const MeasureCell> cells() const { return cells_; }
  /// The values of the measure, added up as its row says; 0 if there are none, or if the table lacks the measure.
  double value(const Measure& measure) const { return together(place_of(measure)); }
  /// The same by the row's place in the table, and by its name.
  double value(std::size_t row) const { return together(row); }
  double value(std::string_view name) const;
  /// MeasureCell::times; 0 if the table lacks the measure.
  std::uint64_t times(const Measure& measure) const;

 private:
  /// The place of the row, or the length of the table if it lacks the measure.
  std::size_t place_of(const Measure& measure) const {
    return static_cast<std::size_t>(std::find(table_.begin(), table_.end(), &measure) - table_.begin());
  }
  double together(std::size_t row) const {
    return row < cells_.size() ? cells_[row].together(table_[row]->adds_up) : 0;
  }

  MeasureTable table_;
  std::vector<MeasureCell> cells_;  // by row
};

}  // namespace lacuna
