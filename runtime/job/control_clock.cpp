#include "runtime/job/control.hpp"

namespace lacuna::runtime {
namespace {

using watch_messages::Say;

constexpr int first_comparisons = 16;  // they follow each other, so that some of them meet no other traffic

}  // namespace

void Control::compare_clocks(std::chrono::milliseconds longest) {
  if (rank_ == 0) return;
  std::unique_lock lock(mutex_);
  orders_.compare_clocks = true;
  wake();
  clock_answered_.wait_for(lock, longest, [this] { return clock_answers_ >= first_comparisons; });
}

std::optional<ClockRelation> Control::clock() const {
  const std::lock_guard lock(mutex_);
  return clocks_.relation();
}

void Control::ask_time() {
  Channel& hub = member(0).channel;
  if (hub.is_open()) watch_messages::send_time(hub, Say::AskTime, {.asked = times_.time.now(), .theirs = {}});
}

void Control::tell_time(Member& to, const Frame& frame) {
  const auto question = watch_messages::read_time(frame);
  if (question)
    watch_messages::send_time(to.channel, Say::Time, {.asked = question->asked, .theirs = times_.time.now()});
}

void Control::take_time(const Frame& frame) {
  const Clock::time_point answered = times_.time.now();
  const auto answer = watch_messages::read_time(frame);
  if (!answer || answer->asked > answered) return;
  {
    const std::lock_guard lock(mutex_);
    clocks_.add(answer->asked, answer->theirs, answered);
    ++clock_answers_;
  }
  clock_answered_.notify_all();
  if (clock_answers_ < first_comparisons) ask_time();
}

}  // namespace lacuna::runtime
