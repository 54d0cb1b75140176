#include "runtime/job/rendezvous.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "runtime/job/names.hpp"
#include "runtime/job/watch_messages.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

namespace {

constexpr std::size_t most_notes = 8;
constexpr std::size_t most_strangers = 128;  // connections without a proof, on top of one for each missing rank

/// How long before a guest gives up it is told of the failure. Without this it would not know why.
std::chrono::milliseconds margin(std::chrono::milliseconds left) {
  return std::clamp(left / 10, std::chrono::milliseconds(10), std::chrono::milliseconds(500));
}

}  // namespace

Rendezvous::Rendezvous(const Job& job, Fd listener, bool on_loopback) : job_(job), listener_(std::move(listener)) {
  roster_.on_one_host = on_loopback;
  roster_.shares_memory = job.reach != 0;
  const auto size = static_cast<std::size_t>(job.size);
  roster_.silence = job.silence;
  roster_.hosts.resize(size);
  roster_.machines.resize(size);
  roster_.hosts[0] = job.host;
  roster_.machines[0] = job.machine;
  table_.addresses.resize(size);
}

Result<Membership> Rendezvous::run(const MakeAddress& make_address, const Deadline& deadline) {
  deadline_ = deadline;
  if (!admission::fill_random(std::as_writable_bytes(std::span(&roster_.nonce, 1)))) {
    return Status(Code::Internal, "the system has no random numbers");
  }
  if (Status come = serve_until_all(&Guest::has_card); !come) return come;
  tell_roster();
  if (Status made = make_own_address(make_address); !made) return made;
  if (Status told = serve_until_all(&Guest::has_address); !told) return told;
  return conclude();
}

/// Are all ranks on one host? A machine that is 0 is not known. Only its name, which the user may have given to several
/// hosts, tells it from others, and so the answer is no.
bool Rendezvous::are_all_on_one_machine() const {
  const auto is_equal_to = [](const auto& first) { return [&](const auto& one) { return one == first; }; };
  return job_.machine != 0 && std::ranges::all_of(roster_.machines, is_equal_to(job_.machine)) &&
         std::ranges::all_of(roster_.hosts, is_equal_to(job_.host));
}

void Rendezvous::tell_roster() {
  roster_.on_one_host = roster_.on_one_host || are_all_on_one_machine();
  roster_.shares_memory = roster_.shares_memory && roster_.on_one_host;
  if (roster_.on_one_host && job_.offer) roster_.offer = job_.offer();
  roster_is_told_ = true;
  const SharedFrame roster = admission::share(roster_);
  for (Guest& guest : guests_) {
    if (guest.has_card) guest.channel.send(roster);
  }
}

Status Rendezvous::make_own_address(const MakeAddress& make_address) {
  Result<std::vector<std::byte>> address = make_address(
      {.on_one_host = roster_.on_one_host, .shares_memory = roster_.shares_memory, .offer = roster_.offer});
  if (!address) {
    static_cast<void>(tell_all({Code::PeerFailed, fmt::format("rank 0 at the store {} can't join: {}", job_.store,
                                                              address.status().message())}));
    return address.status();
  }
  table_.addresses[0] = *std::move(address);
  return {};
}

Status Rendezvous::serve_until_all(bool Guest::*have) {
  while (!all(have)) {
    std::vector<pollfd> waiting{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Guest& guest : guests_) {
      const short events = guest.channel.has_unsent() ? POLLIN | POLLOUT : POLLIN;
      waiting.push_back({.fd = guest.channel.fd(), .events = events, .revents = 0});
    }
    ::poll(waiting.data(), waiting.size(), poll_timeout(deadline_.next_look()));
    auto entry = waiting.begin();
    for (auto guest = guests_.begin(); guest != guests_.end();) {
      const bool stays = (++entry)->revents == 0 || attend(*guest);
      guest = stays ? std::next(guest) : guests_.erase(guest);
    }
    accept_guests();
    if (!failure_) return tell_all(failure_);
    if (all(have) || !deadline_.has_passed()) continue;
    if (!deadline_.is_interrupted()) return tell_all(Status(Code::TimedOut, absentees(have)));
    return tell_all(Status(Code::PeerFailed, "rank 0 no longer waits, because its program has interrupted it"));
  }
  return {};
}

void Rendezvous::accept_guests() {
  while (true) {
    Fd socket = accept_from(listener_);
    if (!socket.is_open()) {
      const int error = errno;
      if (error != EMFILE && error != ENFILE) return;
      if (drop_stranger()) continue;
      failure_ = Status(Code::Transport, fmt::format("rank 0 at the store {} can't accept a connection: {}", job_.store,
                                                     std::generic_category().message(error)));
      return;
    }
    Guest guest;
    guest.channel = Channel(std::move(socket), admission::longest_greeting);
    guest.name = guest.channel.peer();
    if (!admission::fill_random(guest.nonce)) continue;
    admission::send(guest.channel, admission::Hello{guest.nonce});
    guests_.push_back(std::move(guest));
    const auto to_come = static_cast<std::size_t>(job_.size - 1) - admitted();
    if (guests_.size() - admitted() > most_strangers + to_come) drop_stranger();
  }
}

std::size_t Rendezvous::admitted() const {
  const auto is_admitted = [](const Guest& one) { return one.rank > 0; };
  return static_cast<std::size_t>(std::count_if(guests_.begin(), guests_.end(), is_admitted));
}

/// Drops the oldest guest that is not admitted. Returns false if there is none.
bool Rendezvous::drop_stranger() {
  const auto oldest = std::find_if(guests_.begin(), guests_.end(), [](const Guest& one) { return one.rank == 0; });
  if (oldest == guests_.end()) return false;
  guests_.erase(oldest);
  return true;
}

bool Rendezvous::attend(Guest& guest) {
  guest.channel.flush();
  const bool alive = guest.channel.fill();
  while (const std::optional<Frame> frame = guest.channel.next()) {
    if (!take(guest, *frame)) return false;
  }
  if (guest.channel.is_malformed()) {
    return refuse(guest, Status(Code::InvalidArgument, "this is the store of a lacuna job"),
                  fmt::format("refused a peer at {} that does not speak lacuna's protocol", guest.name));
  }
  if (alive || guest.rank == 0) return alive;
  if (roster_is_told_) {
    failure_ =
        Status(Code::PeerFailed, fmt::format("rank {} at {} died while the job came together", guest.rank, guest.name));
  } else {
    note(fmt::format("rank {} at {} came and went", guest.rank, guest.name));
  }
  return false;
}

bool Rendezvous::take(Guest& guest, const Frame& frame) {
  if (guest.rank == 0) return take_claim(guest, frame);
  return roster_is_told_ ? take_address(guest, frame) : take_card(guest, frame);
}

bool Rendezvous::take_card(Guest& guest, const Frame& frame) {
  std::optional<admission::Card> card = admission::read_card(frame);
  if (!card || guest.has_card) {
    failure_ = Status(Code::Internal, fmt::format("rank {} at {} sent a malformed message", guest.rank, guest.name));
    return false;
  }
  guest.has_card = true;
  log_debug(Subsystem::Job, "rank {} joins from {}, host {}", guest.rank, guest.name, card->host);
  roster_.hosts[static_cast<std::size_t>(guest.rank)] = std::move(card->host);
  roster_.machines[static_cast<std::size_t>(guest.rank)] = card->machine;
  roster_.shares_memory = roster_.shares_memory && card->reach == job_.reach;
  deadline_ = deadline_.not_after(Clock::now() + card->left - margin(card->left));
  guest.channel.set_limit(admission::longest_address + sizeof(std::uint32_t));
  return true;
}

bool Rendezvous::take_address(Guest& guest, const Frame& frame) {
  std::optional<admission::Address> address = admission::read_address(frame);
  if (address && !guest.has_address) {
    guest.has_address = true;
    table_.addresses[static_cast<std::size_t>(guest.rank)] = std::move(address->bytes);
    return true;
  }
  const std::optional<Status> refused = admission::read_refused(frame);
  const std::string why = refused ? fmt::format("can't join: {}", refused->message()) : "sent a malformed message";
  failure_ =
      Status(refused ? Code::PeerFailed : Code::Internal, fmt::format("rank {} at {} {}", guest.rank, guest.name, why));
  return false;
}

void Rendezvous::note(std::string text) {
  if (notes_.size() < most_notes) {
    log_warning(Subsystem::Job, "{}", text);
    notes_.push_back(std::move(text));
  } else {
    log_info(Subsystem::Job, "{}", text);
    ++notes_left_out_;
  }
}

bool Rendezvous::all(bool Guest::*have) const {
  const auto count = std::count_if(guests_.begin(), guests_.end(), [&](const Guest& guest) { return guest.*have; });
  return count == job_.size - 1;
}

const Rendezvous::Guest* Rendezvous::find(Rank rank) const {
  if (rank == 0) return nullptr;  // guests that are not admitted have rank 0
  const auto guest = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& one) { return one.rank == rank; });
  return guest == guests_.end() ? nullptr : &*guest;
}

std::string Rendezvous::absentees(bool Guest::*have) const {
  std::vector<Rank> missing;
  for (Rank rank = 1; rank < job_.size; ++rank) {
    const Guest* guest = find(rank);
    if (guest == nullptr || !(guest->*have)) missing.push_back(rank);
  }
  std::string text = fmt::format("{} did not come to the store {} in time; rank 0 waits for {} at most",
                                 name_ranks(missing), job_.store, name_duration(job_.timeout));
  for (const std::string& one : notes_) text += "; " + one;
  if (notes_left_out_ > 0) text += fmt::format("; and {} more", notes_left_out_);
  return text;
}

Status Rendezvous::tell_all(const Status& reason) {
  for (Guest& guest : guests_) {
    if (guest.rank > 0) admission::send(guest.channel, reason);
  }
  flush_all(Clock::now() + margin(job_.timeout));
  return reason;
}

Result<Membership> Rendezvous::conclude() {
  Membership membership;
  membership.star.resize(static_cast<std::size_t>(job_.size));
  is_concluding_ = true;
  std::erase_if(guests_, [](const Guest& guest) { return !guest.has_address; });
  const SharedFrame table = admission::share(table_);
  for (Guest& guest : guests_) guest.channel.send(table);
  flush_all(std::max(deadline_.at(), Clock::now() + std::chrono::seconds(1)));
  for (Guest& guest : guests_) {
    if (guest.channel.has_unsent()) {
      return Status(Code::TimedOut,
                    fmt::format("rank {} at {} does not read what rank 0 sends", guest.rank, guest.name));
    }
    membership.star[static_cast<std::size_t>(guest.rank)] = std::move(guest.channel);
  }
  membership.size = job_.size;
  membership.nonce = roster_.nonce;
  membership.silence = roster_.silence;
  membership.on_one_host = roster_.on_one_host;
  membership.hosts = std::move(roster_.hosts);
  membership.machines = std::move(roster_.machines);
  membership.addresses = std::move(table_.addresses);
  return membership;
}

/// Sends to all guests at the same time, until each has taken what is for it.
void Rendezvous::flush_all(Clock::time_point deadline) {
  const Clock::duration interval = job_.silence / 8;
  Clock::time_point next_beat = Clock::now() + interval;
  std::vector<pollfd> waiting;
  while (Clock::now() < deadline) {
    waiting.clear();
    for (Guest& guest : guests_) {
      guest.channel.flush();
      if (guest.channel.has_unsent()) waiting.push_back({.fd = guest.channel.fd(), .events = POLLOUT, .revents = 0});
    }
    if (waiting.empty()) return;
    ::poll(waiting.data(), waiting.size(), poll_timeout(std::min(deadline, next_beat)));
    if (!is_concluding_ || Clock::now() < next_beat) continue;
    next_beat = Clock::now() + interval;
    beat();
  }
}

/// Sends a beat to the guests that have the whole table. Their watches expect to hear rank 0 while it still sends the
/// table to others.
void Rendezvous::beat() {
  for (Guest& guest : guests_) {
    if (!guest.channel.has_unsent()) watch_messages::send(guest.channel, watch_messages::Say::Beat);
  }
}

}  // namespace lacuna::runtime
