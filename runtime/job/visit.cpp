#include "runtime/job/visit.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>

#include "runtime/job/admission.hpp"
#include "runtime/job/names.hpp"

namespace lacuna::runtime {
namespace {

/// One attempt of a rank above 0 to enter through one connection.
class Visit {
 public:
  /// Until `patience` rank 0 must have greeted, and until `deadline` all must have come.
  Visit(const Job& job, Fd socket, const Deadline& patience, const Deadline& deadline)
      : job_(job), channel_(std::move(socket), admission::longest_greeting), patience_(patience), deadline_(deadline) {}

  /// The error is Busy if the connection ended before rank 0 had answered. Then another attempt may succeed.
  Status get_admitted() {
    Result<Frame> frame = receive("it accepts connections but says nothing", patience_);
    if (!frame) return frame.status();
    const std::optional<admission::Hello> hello = admission::read_hello(*frame);
    if (!hello) return stranger();
    admission::Claim claim{.rank = job_.rank, .size = job_.size};
    if (!admission::fill_random(claim.nonce)) return {Code::Internal, "the system has no random numbers"};
    const auto own = admission::prove(job_.key, admission::Speaker::Guest, hello->nonce, claim);
    const auto expected = admission::prove(job_.key, admission::Speaker::Store, hello->nonce, claim);
    if (!own || !expected) return own ? expected.status() : own.status();
    claim.proof = *own;
    admission::send(channel_, claim);
    frame = receive("it does not answer", deadline_);
    if (!frame) return frame.status();
    if (std::optional<Status> refused = admission::read_refused(*frame)) return *refused;
    const std::optional<admission::Proof> proof = admission::read_admitted(*frame);
    if (!proof) return stranger();
    if (!admission::matches(*proof, *expected)) {
      return {Code::InvalidArgument,
              fmt::format("what listens at the store {} does not hold this job's key; LACUNA_KEY "
                          "must be equal on all ranks",
                          job_.store)};
    }
    return Status::ok();
  }

  /// Waits until all ranks have come.
  Result<Membership> stay(const MakeAddress& make_address) {
    const std::size_t entry = admission::longest_address + admission::longest_host + 24;
    channel_.set_limit(static_cast<std::size_t>(job_.size) * entry + admission::longest_offer + 64);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_.left());
    admission::send(channel_,
                    admission::Card{.host = job_.host, .machine = job_.machine, .reach = job_.reach, .left = left});
    Result<admission::Roster> roster = get_answer([&](const Frame& f) { return admission::read_roster(f, job_.size); });
    if (!roster) return roster.status();
    Result<std::vector<std::byte>> address = make_address(
        {.on_one_host = roster->on_one_host, .shares_memory = roster->shares_memory, .offer = roster->offer});
    if (!address) {
      admission::send(channel_, address.status());
      return address.status();
    }
    admission::send(channel_, admission::Address{*std::move(address)});
    Result<admission::Table> table = get_answer([&](const Frame& f) { return admission::read_table(f, job_.size); });
    if (!table) return table.status();
    return member(*std::move(roster), *std::move(table));
  }

 private:
  /// Waits for what rank 0 says once it has heard all ranks, and reads it by `read`.
  template <class Read, class Said = typename std::invoke_result_t<Read, const Frame&>::value_type>
  Result<Said> get_answer(const Read& read) {
    Result<Frame> frame = receive("the other ranks did not come in time", deadline_);
    if (!frame) {
      if (frame.status().code() != Code::Busy) return frame.status();
      return Status(Code::PeerFailed,
                    fmt::format("rank 0 at the store {} died while the job came together", job_.store));
    }
    if (std::optional<Status> refused = admission::read_refused(*frame)) return *refused;
    std::optional<Said> said = read(*frame);
    if (!said) return stranger();
    return *std::move(said);
  }

  Result<Frame> receive(std::string_view complaint, const Deadline& until) {
    while (true) {
      if (std::optional<Frame> frame = channel_.next()) return *std::move(frame);
      if (channel_.is_malformed()) return stranger();
      channel_.flush();
      const short events = channel_.has_unsent() ? POLLIN | POLLOUT : POLLIN;
      if (!wait_for(channel_.fd(), events, until)) {
        return Status(Code::TimedOut, fmt::format("the store {} is there, but within {} {}", job_.store,
                                                  name_duration(job_.timeout), complaint));
      }
      if (channel_.fill()) continue;
      if (std::optional<Frame> frame = channel_.next()) return *std::move(frame);
      return Status(Code::Busy, "it closed the connection");
    }
  }

  Status stranger() const {
    return {Code::InvalidArgument, fmt::format("what listens at {} is not the store of a lacuna job", job_.store)};
  }

  Membership member(admission::Roster roster, admission::Table table) {
    Membership membership;
    membership.rank = job_.rank;
    membership.size = job_.size;
    membership.nonce = roster.nonce;
    membership.silence = roster.silence;
    membership.on_one_host = roster.on_one_host;
    membership.hosts = std::move(roster.hosts);
    membership.machines = std::move(roster.machines);
    membership.addresses = std::move(table.addresses);
    membership.star.resize(static_cast<std::size_t>(job_.size));
    membership.star[0] = std::move(channel_);
    return membership;
  }

  const Job& job_;
  Channel channel_;
  const Deadline patience_, deadline_;
};

/// What came of an attempt to enter.
struct Attempt {
  Result<Membership> outcome;
  bool was_admitted = false;
};

/// Tries to enter at the first of these addresses that answers, unless nobody greets this rank before `patience`.
Attempt try_to_enter(const Job& job, const std::vector<SocketAddress>& addresses, const MakeAddress& make_address,
                     const Deadline& patience, const Deadline& deadline) {
  Result<Fd> socket = connect_to(addresses, patience);
  if (!socket) return {Status(Code::Busy, std::string(socket.status().message()))};
  Visit visit(job, *std::move(socket), patience, deadline);
  if (Status admitted = visit.get_admitted(); !admitted) return {admitted};
  return {visit.stay(make_address), true};
}

/// Pauses between attempts, which become longer.
class Pauses {
 public:
  /// Pauses, unless the deadline comes before the end of the pause, or has passed.
  bool pause_before(const Deadline& deadline) {
    if (pause_ >= deadline.left() || deadline.has_passed()) return false;
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(100));
    return true;
  }

 private:
  std::chrono::milliseconds pause_{5};
};

Status not_reached(const Job& job, const Status& last) {
  return {Code::TimedOut, fmt::format("rank {} could not reach the store {} within {}: {}", job.rank, job.store,
                                      name_duration(job.timeout), last.message())};
}

}  // namespace

Result<Membership> visit_store(const Job& job, const std::vector<SocketAddress>& addresses,
                               const MakeAddress& make_address, const Deadline& deadline) {
  Pauses pauses;
  while (true) {
    Result<Membership> outcome = try_to_enter(job, addresses, make_address, deadline, deadline).outcome;
    if (outcome || outcome.status().code() != Code::Busy) return outcome;
    if (!pauses.pause_before(deadline)) return not_reached(job, outcome.status());
  }
}

Result<Membership> look_for_rank_0(const Job& job, const std::vector<SocketAddress>& addresses,
                                   const MakeAddress& make_address, const Deadline& deadline) {
  constexpr std::chrono::seconds longest_try{2};
  if (addresses.size() == 1) return visit_store(job, addresses, make_address, deadline);
  Pauses pauses;
  Status why(Code::Busy, "its host has no address");
  while (true) {
    auto left = static_cast<int>(addresses.size());
    for (const SocketAddress& address : addresses) {
      const auto longest = std::min<Clock::duration>(longest_try, deadline.left() / left--);
      const Deadline patience = deadline.not_after(Clock::now() + longest);
      Attempt attempt = try_to_enter(job, {address}, make_address, patience, deadline);
      const Status& status = attempt.outcome.status();
      if (attempt.was_admitted || status.code() == Code::Mismatch) return std::move(attempt.outcome);
      if (why.code() != Code::InvalidArgument || status.code() == Code::InvalidArgument) why = status;  // tells most
    }
    if (!pauses.pause_before(deadline)) return not_reached(job, why);
  }
}

}  // namespace lacuna::runtime
