#include "runtime/job/silent_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lacuna::runtime {

std::vector<SilentLinks::Link>::iterator SilentLinks::find(const Way& way) {
  return std::find_if(links_.begin(), links_.end(), [&](const Link& link) { return link.way == way; });
}

void SilentLinks::note_wait(Rank to, const Wait& wait, const Trouble& stalled, Clock::time_point now) {
  std::erase_if(links_, [&](const Link& link) { return now - link.renewed > 2 * silence_; });
  const Way way{.from = wait.peer, .to = to};
  auto link = find(way);
  if (link == links_.end()) link = links_.insert(link, Link());
  if (link->way != way || link->received != wait.received) {
    link->way = way;
    link->received = wait.received;
    link->is_silent = false;
    link->since = now;
  }
  link->renewed = now;
  link->stalled = stalled;
}

SilentLinks::State SilentLinks::note_sent(const Way& way, std::uint64_t sent, Clock::time_point now) {
  const auto link = find(way);
  if (link == links_.end()) return State::Busy;
  if (sent <= link->received) {
    links_.erase(link);
    return State::Busy;
  }
  if (now - link->since >= silence_) return State::Cut;
  return std::exchange(link->is_silent, true) ? State::Unheard : State::Silent;
}

const Trouble& SilentLinks::trouble_of(const Way& way) const {
  return std::find_if(links_.begin(), links_.end(), [&](const Link& link) { return link.way == way; })->stalled;
}

std::string SilentLinks::text_for(std::uint64_t communicator) const {
  std::string text;
  for (const Link& link : links_) {
    if (!link.is_silent || link.stalled.communicator != communicator) continue;
    text += fmt::format("; nothing that rank {} sends to rank {} arrives", link.way.from, link.way.to);
  }
  return text;
}

}  // namespace lacuna::runtime
