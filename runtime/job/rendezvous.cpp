#include "runtime/job/rendezvous.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

namespace {

constexpr std::size_t most_notes = 8;
constexpr std::size_t most_strangers = 128;  // connections that have not proved anything yet

/// A guest is told of the failure shortly before it would give up without knowing why.
std::chrono::milliseconds margin(std::chrono::milliseconds left) {
  return std::clamp(left / 10, std::chrono::milliseconds(10), std::chrono::milliseconds(500));
}

}  // namespace

Rendezvous::Rendezvous(const Job& job, Fd listener, std::vector<std::byte> address)
    : job_(job), listener_(std::move(listener)) {
  const auto size = static_cast<std::size_t>(job.size);
  table_.silence = job.silence;
  table_.hosts.resize(size);
  table_.machines.resize(size);
  table_.addresses.resize(size);
  table_.hosts[0] = job.host;
  table_.machines[0] = job.machine;
  table_.addresses[0] = std::move(address);
}

Result<Membership> Rendezvous::run(Clock::time_point deadline) {
  deadline_ = deadline;
  if (!admission::fill_random(std::as_writable_bytes(std::span(&table_.nonce, 1)))) {
    return Status(Code::Internal, "the system has no random numbers");
  }
  while (!is_complete()) {
    std::vector<pollfd> waiting{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Guest& guest : guests_) {
      const short events = guest.channel.has_unsent() ? POLLIN | POLLOUT : POLLIN;
      waiting.push_back({.fd = guest.channel.fd(), .events = events, .revents = 0});
    }
    ::poll(waiting.data(), waiting.size(), poll_timeout(deadline_));
    auto entry = waiting.begin();
    for (auto guest = guests_.begin(); guest != guests_.end();) {
      const bool stays = (++entry)->revents == 0 || attend(*guest);
      guest = stays ? std::next(guest) : guests_.erase(guest);
    }
    accept_guests();
    if (!failure_) return tell_all(failure_);
    if (Clock::now() >= deadline_ && !is_complete()) return tell_all(Status(Code::TimedOut, absentees()));
  }
  return conclude();
}

void Rendezvous::accept_guests() {
  while (true) {
    Fd socket = accept_from(listener_);
    if (!socket.is_open()) return;
    Guest guest;
    guest.channel = Channel(std::move(socket), admission::longest_greeting);
    guest.name = guest.channel.peer();
    if (!admission::fill_random(guest.nonce)) continue;
    admission::send(guest.channel, admission::Hello{guest.nonce});
    guests_.push_back(std::move(guest));
    const auto is_stranger = [](const Guest& one) { return one.rank == 0; };
    if (static_cast<std::size_t>(std::count_if(guests_.begin(), guests_.end(), is_stranger)) > most_strangers) {
      guests_.erase(std::find_if(guests_.begin(), guests_.end(), is_stranger));
    }
  }
}

bool Rendezvous::attend(Guest& guest) {
  guest.channel.flush();
  const bool alive = guest.channel.fill();
  while (const std::optional<Frame> frame = guest.channel.next()) {
    const bool welcome = guest.rank == 0 ? take_claim(guest, *frame) : take_card(guest, *frame);
    if (!welcome) return false;
  }
  if (guest.channel.is_malformed()) {
    return refuse(guest, Status(Code::InvalidArgument, "this is the store of a lacuna job"),
                  fmt::format("refused a peer at {} that does not speak lacuna's protocol", guest.name));
  }
  if (!alive && guest.rank > 0) note(fmt::format("rank {} at {} came and went", guest.rank, guest.name));
  return alive;
}

bool Rendezvous::take_claim(Guest& guest, const Frame& frame) {
  const std::optional<admission::Claim> claim = admission::read_claim(frame);
  if (!claim) {
    return refuse(guest, Status(Code::InvalidArgument, "this is the store of a lacuna job"),
                  fmt::format("refused a peer at {} that does not speak lacuna's protocol", guest.name));
  }
  if (claim->version != admission::protocol_version) {
    const Status reason(Code::Mismatch,
                        fmt::format("rank 0 speaks protocol {} and this rank {}: run the same lacuna on all ranks",
                                    admission::protocol_version, claim->version));
    return refuse(guest, reason,
                  fmt::format("refused a peer at {} that speaks protocol {}, not {}", guest.name, claim->version,
                              admission::protocol_version));
  }
  const auto expected = admission::prove(job_.key, admission::Speaker::Guest, guest.nonce, *claim);
  const auto answer = admission::prove(job_.key, admission::Speaker::Store, guest.nonce, *claim);
  if (!expected || !answer) return fail(guest, expected ? answer.status() : expected.status());
  if (!admission::matches(*expected, claim->proof)) {
    const Status reason(Code::InvalidArgument,
                        fmt::format("rank 0 refused rank {}: wrong key; LACUNA_KEY must be equal "
                                    "on all ranks",
                                    claim->rank));
    return refuse(guest, reason,
                  fmt::format("refused a peer at {} that claimed rank {} with a wrong key", guest.name, claim->rank));
  }
  if (Status fits = check(guest, *claim); !fits) return fail(guest, std::move(fits));
  guest.rank = claim->rank;
  guest.channel.set_limit(admission::longest_card);
  admission::send(guest.channel, *answer);
  return true;
}

Status Rendezvous::check(const Guest& guest, const admission::Claim& claim) const {
  if (claim.size != job_.size) {
    return {Code::Mismatch, fmt::format("rank {} at {} was given size {}, rank 0 size {}: LACUNA_SIZE must be equal on "
                                        "all ranks",
                                        claim.rank, guest.name, claim.size, job_.size)};
  }
  if (claim.rank < 0 || claim.rank >= job_.size) {
    return {Code::InvalidArgument, fmt::format("a peer at {} claimed rank {}; with size {} allowed are 0 to {}",
                                               guest.name, claim.rank, job_.size, job_.size - 1)};
  }
  const Guest* other = find(claim.rank);
  if (claim.rank > 0 && other == nullptr) return Status::ok();
  const std::string first = other != nullptr ? other->name : fmt::format("the one that listens at {}", job_.store);
  return {Code::Mismatch, fmt::format("two processes are rank {}: {} and {}; LACUNA_RANK must differ between all ranks",
                                      claim.rank, first, guest.name)};
}

bool Rendezvous::take_card(Guest& guest, const Frame& frame) {
  std::optional<admission::Card> card = admission::read_card(frame);
  if (!card || guest.has_card) {
    failure_ = Status(Code::Internal, fmt::format("rank {} at {} sent a malformed message", guest.rank, guest.name));
    return false;
  }
  guest.has_card = true;
  log_debug(Subsystem::Job, "rank {} joins from {}, host {}", guest.rank, guest.name, card->host);
  table_.hosts[static_cast<std::size_t>(guest.rank)] = std::move(card->host);
  table_.machines[static_cast<std::size_t>(guest.rank)] = card->machine;
  table_.addresses[static_cast<std::size_t>(guest.rank)] = std::move(card->address);
  deadline_ = std::min(deadline_, Clock::now() + card->left - margin(card->left));
  return true;
}

bool Rendezvous::refuse(Guest& guest, const Status& reason, std::string text) {
  admission::send(guest.channel, reason);
  note(std::move(text));
  return false;
}

bool Rendezvous::fail(Guest& guest, Status reason) {
  failure_ = std::move(reason);
  admission::send(guest.channel, failure_);
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

bool Rendezvous::is_complete() const {
  const auto count = std::count_if(guests_.begin(), guests_.end(), [](const Guest& guest) { return guest.has_card; });
  return count == job_.size - 1;
}

const Rendezvous::Guest* Rendezvous::find(Rank rank) const {
  if (rank == 0) return nullptr;  // of guests, those that are not admitted
  const auto guest = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& one) { return one.rank == rank; });
  return guest == guests_.end() ? nullptr : &*guest;
}

std::string Rendezvous::absentees() const {
  std::vector<Rank> missing;
  for (Rank rank = 1; rank < job_.size; ++rank) {
    const Guest* guest = find(rank);
    if (guest == nullptr || !guest->has_card) missing.push_back(rank);
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
  std::erase_if(guests_, [](const Guest& guest) { return !guest.has_card; });
  for (Guest& guest : guests_) admission::send(guest.channel, table_);
  flush_all(std::max(deadline_, Clock::now() + std::chrono::seconds(1)));
  for (Guest& guest : guests_) {
    if (guest.channel.has_unsent()) {
      return Status(Code::TimedOut, fmt::format("rank {} at {} takes nothing in", guest.rank, guest.name));
    }
    membership.star[static_cast<std::size_t>(guest.rank)] = std::move(guest.channel);
  }
  membership.size = job_.size;
  membership.nonce = table_.nonce;
  membership.silence = table_.silence;
  membership.hosts = std::move(table_.hosts);
  membership.machines = std::move(table_.machines);
  membership.addresses = std::move(table_.addresses);
  return membership;
}

void Rendezvous::flush_all(Clock::time_point deadline) {
  for (Guest& guest : guests_) {
    while (guest.channel.has_unsent() && wait_for(guest.channel.fd(), POLLOUT, deadline)) guest.channel.flush();
  }
}

}  // namespace lacuna::runtime
