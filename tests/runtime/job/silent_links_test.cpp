#include "runtime/job/silent_links.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/job/watch_job.hpp"
#include "tests/support/warnings.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = Trouble::Kind;
using State = SilentLinks::State;

constexpr std::chrono::milliseconds silence = 10s;
constexpr Way way{.from = 1, .to = 2};

Trouble stalled(std::vector<Wait> waits = {}) {
  Trouble report = trouble(Kind::Stalled, 3);
  report.waits = std::move(waits);
  return report;
}

TEST(SilentLinks, AreThoseOfWhichMoreWasSentThanHasArrivedAndCutOnceTheTimeIsOver) {
  SilentLinks links(silence);
  const Clock::time_point begin = Clock::now();
  links.note_wait(2, {.peer = 1, .received = 5}, stalled(), begin);
  EXPECT_EQ(links.note_sent(way, 6, begin), State::Silent);
  EXPECT_EQ(links.note_sent(way, 6, begin + silence - 1ns), State::Unheard);
  EXPECT_EQ(links.text_for(1), "; nothing that rank 1 sends to rank 2 arrives");
  EXPECT_EQ(links.text_for(2), "");
  EXPECT_EQ(links.note_sent(way, 6, begin + silence), State::Cut);
  EXPECT_EQ(links.trouble_of(way).run, 3u);
}

TEST(SilentLinks, AreNotThoseOfWhichAllHasArrived) {
  SilentLinks links(silence);
  const Clock::time_point begin = Clock::now();
  links.note_wait(2, {.peer = 1, .received = 5}, stalled(), begin);
  EXPECT_EQ(links.note_sent(way, 5, begin + silence), State::Busy);
  EXPECT_EQ(links.note_sent(way, 6, begin + silence), State::Busy);  // nobody is known to wait for these messages
  EXPECT_EQ(links.text_for(1), "");
}

TEST(SilentLinks, HaveTheirTimeAnewWithEachMessageThatArrives) {
  SilentLinks links(silence);
  const Clock::time_point begin = Clock::now();
  links.note_wait(2, {.peer = 1, .received = 5}, stalled(), begin);
  EXPECT_EQ(links.note_sent(way, 9, begin), State::Silent);
  links.note_wait(2, {.peer = 1, .received = 6}, stalled(), begin + silence - 1ns);
  EXPECT_EQ(links.note_sent(way, 9, begin + silence), State::Silent);
  EXPECT_EQ(links.note_sent(way, 9, begin + 2 * silence), State::Cut);
}

TEST(SilentLinks, AreForgottenWhenNobodyHasWaitedForLong) {
  SilentLinks links(silence);
  const Clock::time_point begin = Clock::now();
  links.note_wait(2, {.peer = 1, .received = 5}, stalled(), begin);
  links.note_wait(3, {.peer = 2, .received = 5}, stalled(), begin + 2 * silence + 1ns);
  EXPECT_EQ(links.note_sent(way, 6, begin + 2 * silence + 1ns), State::Busy);
}

/// Rank 2 waits for what rank 1 has sent. Rank 3 waits for rank 2, but has got everything that rank 2 sent, and so on
/// around the ring.
TEST(SilentLinks, EndTheirCommunicatorAndNameThePairAndNoBystander) {
  for (const Rank from : {0, 1}) {  // rank 0 is asked too
    const Rank to = from + 1;
    Local job(4, {}, 10s, Time::ByHand);
    job.post_everywhere(3);
    for (Rank rank = 0; rank < 4; ++rank) {
      job.clients[static_cast<std::size_t>(rank)].has_sent((rank + 1) % 4, rank == from ? 6 : 5);
    }
    while (job.clients[0].verdicts() == 0) {
      for (Rank rank = 0; rank < 4; ++rank) {
        job.watches[static_cast<std::size_t>(rank)]->report(stalled({{.peer = (rank + 3) % 4, .received = 5}}));
      }
      job.pass(1s, {0, 1, 2, 3});
    }
    const auto name = [](Rank rank) {
      return "rank " + std::to_string(rank) + " (host h" + std::to_string(rank) + ")";
    };
    job.expect_verdict_everywhere("transport error: call 3 failed: nothing that was sent from " + name(from) + " to " +
                                  name(to) +
                                  " has arrived for 10 s, though both answer (is the network between them cut?)");
  }
}

TEST(SilentLinks, AreAWarningFromTheStallOnAndAreNamedWhenTheCallRunsOutOfTime) {
  const test::Warnings warnings;
  Local job(3, {.throttle = 10ms}, 30s);
  job.post_everywhere(3);
  job.clients[1].has_sent(2, 6);
  const std::string pair = "; nothing that rank 1 sends to rank 2 arrives";
  job.watches[2]->report(stalled({{.peer = 1, .received = 5}}));
  EXPECT_NE(warnings.first().find("nothing that is sent from rank 1 (host h1) to rank 2 (host h2) arrives"),
            std::string::npos);
  job.watches[0]->report(trouble(Kind::Expired, 3, "waits for rank 2"));
  job.expect_verdict_everywhere(
      "timed out: call 3 ran out of time on rank 0: waits for rank 2; all ranks have posted it" + pair);
}

}  // namespace
}  // namespace lacuna::runtime
