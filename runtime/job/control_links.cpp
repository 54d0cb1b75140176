#include <fmt/format.h>

#include "runtime/job/control.hpp"
#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"

// Connections over which nothing arrives any more. Rank 0 asks the rank for whose messages a stalled rank waits.
namespace lacuna::runtime {
namespace {

constexpr std::chrono::milliseconds progress_after_question{1000};  // so that messages of a busy rank leave it

}  // namespace

void Control::suspect_links(Rank reporter, const Trouble& stalled) {
  for (const Wait& wait : stalled.waits) {
    if (wait.peer < 0 || wait.peer >= size() || wait.peer == reporter) continue;
    silent_links_.note_wait(reporter, wait, stalled, now_);
    if (wait.peer == rank_) {
      count_sent(reporter);
    } else if (Channel& channel = member(wait.peer).channel; channel.is_open()) {
      watch_messages::send_ask_sent(channel, reporter);
    }
  }
}

/// Counts the messages that this rank has sent to another one, for rank 0. Meanwhile it makes progress, so that none of
/// them stays here.
void Control::count_sent(Rank to) {
  if (to < 0 || to >= size()) return;
  help_until_ = std::max(help_until_, now_ + progress_after_question);
  attendant_.count_sent(to, [this, to](std::uint64_t messages) {
    {
      const std::lock_guard lock(mutex_);
      orders_.sent.push_back({.to = to, .messages = messages});
    }
    wake();
  });
}

void Control::tell_sent(const watch_messages::Sent& sent) {
  if (rank_ == 0) return judge_link(0, sent);
  if (Channel& hub = member(0).channel; hub.is_open()) watch_messages::send_sent(hub, sent);
}

void Control::judge_link(Rank from, const watch_messages::Sent& sent) {
  if (rank_ != 0 || failed_ || sent.to < 0 || sent.to >= size()) return;
  const Way way{.from = from, .to = sent.to};
  const std::string pair = fmt::format("{} to {}", name_of_member(from), name_of_member(sent.to));
  const SilentLinks::State state = silent_links_.note_sent(way, sent.messages, now_);
  if (state == SilentLinks::State::Silent) {
    log_warning(Subsystem::Job,
                "nothing that is sent from {} arrives, though both answer: is the network between them cut?", pair);
  }
  if (state != SilentLinks::State::Cut) return;
  const Trouble& stalled = silent_links_.trouble_of(way);
  const Status verdict(
      Code::Transport,
      fmt::format("{} failed: nothing that was sent from {} has arrived for {}, though both answer (is "
                  "the network between them cut?)",
                  name_of(stalled), pair, name_duration(silence_)));
  poison({verdict, stalled.communicator, stalled.members}, rank_);
}

}  // namespace lacuna::runtime
