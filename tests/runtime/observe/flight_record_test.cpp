#include "runtime/observe/flight_record.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/hand_clock.hpp"
#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using runtime::FlightRecord;

/// The ticks and the call of an event.
struct Line {
  std::uint64_t ticks = 0;
  std::string kind;
  std::uint32_t run = 0;
};

std::vector<Line> lines_of(const std::string& record) {
  std::vector<Line> all;
  std::istringstream text(record);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string since, call;
    Line& one = all.emplace_back();
    words >> since >> one.kind >> call >> one.run;
    one.ticks = std::stoull(since);
  }
  return all;
}

/// The events of one rank, by a clock that the test moves. Event i belongs to call i.
struct Recorded {
  explicit Recorded(std::uint32_t events) {
    for (std::uint32_t run = 0; run < events; ++run) {
      clock.move(std::chrono::milliseconds(run + 1));
      record.tick();
      ticks.push_back(record.ticks());
      record.add({.bytes = run, .run = run, .peer = 1, .kind = FlightRecord::Kind::Sent});
    }
  }
  std::vector<Line> lines(std::size_t newest) const { return lines_of(record.text(newest)); }

  HandClock clock;
  FlightRecord record{runtime::TimeSource(clock)};
  std::vector<std::uint64_t> ticks;
};

TEST(FlightRecord, ShowsTheNewestEventsWithTheTicksSinceTheOldestThatIsShown) {
  for (const std::uint32_t events : {1u, 31u, 32u, 33u, 100u, 4095u, 4096u, 4097u, 8192u, 10'000u}) {
    const Recorded all(events);
    for (const std::uint32_t newest : {1u, 32u, 4095u, 4096u, 5000u}) {
      const auto lines = all.lines(newest);
      const std::uint32_t shown = std::min({newest, events, 4096u}), first = events - shown;
      ASSERT_EQ(lines.size(), shown);
      for (std::uint32_t i = 0; i < shown; ++i) {
        ASSERT_EQ(lines[i].run, first + i) << newest << " of " << events;
        ASSERT_EQ(lines[i].ticks, all.ticks[first + i] - all.ticks[first]) << newest << " of " << events;
      }
    }
  }
}

TEST(FlightRecord, WithoutEventsIsEmpty) { EXPECT_EQ(Recorded(0).record.text(), ""); }

TEST(FlightRecord, NamesEachNumberWhole) {
  constexpr std::uint32_t run = 4'000'000'001, step = 4'000'000'002, part = 4'000'000'003, peer = 1'000'000;
  FlightRecord record{runtime::TimeSource()};
  record.add({.bytes = std::uint64_t{1} << 40, .run = run, .step = step, .part = part, .peer = peer});
  EXPECT_NE(record.text().find("posted   call 4000000001 part 4000000003 step 4000000002 peer 1000000 bytes "
                               "1099511627776"),
            std::string::npos)
      << record.text();
}

TEST(FlightRecord, OfARankCountsFromTheTimeOfItsFirstCall) {
  HandClock clock;
  runtime::ExecutorOptions options = quick_executor();
  options.time = runtime::TimeSource(clock);
  LoneRank rank(2, options);
  const std::vector<float> sent(4, 1);
  std::vector<float> data(4);
  clock.move(std::chrono::hours(1));
  ASSERT_TRUE(rank.communicator.post(Receive{.data = data.data(), .count = 4, .from = 1}));
  clock.move(std::chrono::milliseconds(5));
  rank.arrive(LoneRank::message(0, 0, 16), sent, 0, 16);
  const auto lines = lines_of(rank.executor.flight_record());
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines.front().ticks, 0u);
  EXPECT_EQ(lines.back().ticks, 5'000'000u) << rank.executor.flight_record();
}

}  // namespace
}  // namespace lacuna::test
