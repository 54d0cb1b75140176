#include "runtime/values/measure.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lacuna::test {
namespace {

constexpr Measure sum = {.name = "sum", .unit = Unit::Seconds},
                  largest = {.name = "largest", .adds_up = AddsUp::Largest},
                  last = {.name = "last", .adds_up = AddsUp::Last}, mean = {.name = "mean", .adds_up = AddsUp::Mean},
                  stranger = {.name = "stranger"};
constexpr const Measure* table[] = {&sum, &largest, &last, &mean};

MeasureValues values_of(std::initializer_list<double> told) {
  MeasureValues values;
  values.begin(table);
  for (double value : told) {
    for (const Measure* measure : table) values.tell(*measure, value);
  }
  return values;
}

/// The measures add up in these ways: sum, largest, last, mean.
using Four = std::array<double, 4>;
Four four(const MeasureValues& values) {
  return {values.value(sum), values.value(largest), values.value(last), values.value(mean)};
}

TEST(Measures, AddUpInFourWays) {
  EXPECT_EQ(four(values_of({})), (Four{0, 0, 0, 0}));
  EXPECT_EQ(four(values_of({-3, -7, -2})), (Four{-12, -2, -2, -4}));
  EXPECT_EQ(four(values_of({5, 1})), (Four{6, 5, 1, 3}));
}

TEST(Measures, OfTwoKernelsAddUpAsOfOne) {
  MeasureValues both = values_of({-3, -7});
  both.add(values_of({}));
  EXPECT_EQ(four(both), (Four{-10, -3, -7, -5})) << "a kernel that tells nothing changes nothing";
  both.add(values_of({-2}));
  EXPECT_EQ(four(both), four(values_of({-3, -7, -2})));
  EXPECT_EQ(both.times(mean), 3u);
}

TEST(Measures, EachCallWeighsTheSameInAMeanAndOneThatTellsNothingDoesNotCount) {
  MeasureValues calls;
  for (const MeasureValues& call : {values_of({1, 2, 9}), values_of({}), values_of({6})}) calls.add_call(call);
  EXPECT_EQ(four(calls), (Four{18, 9, 6, 5})) << "the mean of 4 and 6";
  EXPECT_EQ(calls.times(mean), 2u);
  EXPECT_EQ(calls.times(sum), 2u);
}

TEST(Measures, TellWhatWasToldSinceACopyWasMade) {
  MeasureValues calls = values_of({100, 50});
  calls.restart();
  const MeasureValues before = calls;
  MeasureValues nothing = calls;
  nothing.subtract(before);
  EXPECT_EQ(four(nothing), (Four{0, 0, 0, 0}));
  calls.add_call(values_of({3}));
  calls.add_call(values_of({1}));
  calls.subtract(before);
  EXPECT_EQ(four(calls), (Four{4, 3, 1, 2}));
  EXPECT_EQ(calls.times(sum), 2u);
}

TEST(Measures, ThatTheTableLacksAreDropped) {
  MeasureValues values = values_of({1});
  values.tell(stranger, 7);
  EXPECT_EQ(four(values), (Four{1, 1, 1, 1}));
  EXPECT_EQ(values.value(stranger), 0);
  EXPECT_EQ(values.times(stranger), 0u);
  EXPECT_EQ(MeasureValues().value(sum), 0) << "there is no table";
}

TEST(Measures, AreForgottenWhenAnotherTableBegins) {
  MeasureValues values = values_of({1, 2});
  values.begin(MeasureTable(table).first(1));
  EXPECT_EQ(values.value(sum), 0);
  EXPECT_EQ(values.cells().size(), 1u);
  values.tell(mean, 3);
  EXPECT_EQ(values.value(mean), 0) << "no row of this table";
}

TEST(Measures, AreTimesOfKernelsByWhatTheRowSaysAndNotByTheirNames) {
  EXPECT_TRUE(Measure({.name = "x", .unit = Unit::Seconds}).is_time_of_kernels());
  EXPECT_FALSE(Measure({.name = "x_s", .unit = Unit::Ratio}).is_time_of_kernels());
  EXPECT_FALSE(Measure({.name = "x_s", .unit = Unit::Seconds, .by = CountedBy::Plan}).is_time_of_kernels());
  EXPECT_FALSE(Measure({.name = "x_s", .unit = Unit::Seconds, .adds_up = AddsUp::Largest}).is_time_of_kernels());
}

TEST(Measures, WhoseTimesADeviceCorrectsKeepTheirShares) {
  static constexpr Measure other = {.name = "other", .unit = Unit::Seconds}, count = {.name = "count"};
  static constexpr const Measure* rows[] = {&sum, &other, &count};
  MeasureValues values;
  values.begin(rows);
  values.retime(8);
  EXPECT_EQ(values.value(sum), 0) << "no kernel has told a time";
  values.tell(sum, 1);
  values.tell(other, 3);
  values.tell(count, 5);
  values.retime(8);
  EXPECT_EQ(values.value(sum), 2);
  EXPECT_EQ(values.value(other), 6);
  EXPECT_EQ(values.value(count), 5);
}

TEST(Measures, HaveWordsForAllThatARowSays) {
  EXPECT_EQ(to_string(Unit::Calls), "calls");
  EXPECT_EQ(to_string(Unit::Blocks), "blocks");
  EXPECT_EQ(to_string(Unit::Seconds), "seconds");
  EXPECT_EQ(to_string(Unit::Ratio), "ratio");
  for (const Measure* measure : table) EXPECT_EQ(to_string(measure->adds_up), measure->name);
  EXPECT_EQ(to_string(CountedBy::Plan), "plan");
  EXPECT_EQ(to_string(CountedBy::Kernels), "kernels");
}

}  // namespace
}  // namespace lacuna::test
