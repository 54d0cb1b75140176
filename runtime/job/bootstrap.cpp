#include "runtime/job/bootstrap.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <thread>

#include "runtime/job/admission.hpp"
#include "runtime/job/invitation.hpp"
#include "runtime/job/names.hpp"
#include "runtime/job/rendezvous.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

namespace {

Status check(const Job& job) {
  const auto invalid = [](std::string text) { return Status(Code::InvalidArgument, std::move(text)); };
  if (job.size < 1) return invalid(fmt::format("the job has size {}; allowed are 1 and more", job.size));
  if (job.rank < 0 || job.rank >= job.size) {
    return invalid(fmt::format("rank {} in a job of size {}; allowed are 0 to {}", job.rank, job.size, job.size - 1));
  }
  if (job.timeout.count() <= 0 || job.silence.count() <= 0) {
    return invalid(fmt::format("the timeouts of bootstrap and watch are {} and {}; both must be above 0",
                               name_duration(job.timeout), name_duration(job.silence)));
  }
  if (job.host.size() > admission::longest_host) {
    return invalid(fmt::format("the name of the host has {} bytes; allowed are {} at most", job.host.size(),
                               admission::longest_host));
  }
  return Status::ok();
}

/// The caller's function, with checks of its result.
MakeAddress checked(const MakeAddress& make_address) {
  return [&make_address](bool on_one_host) -> Result<std::vector<std::byte>> {
    if (!make_address) return std::vector<std::byte>();
    Result<std::vector<std::byte>> address = make_address(on_one_host);
    if (!address || address->size() <= admission::longest_address) return address;
    return Status(Code::InvalidArgument, fmt::format("an address of {} bytes; allowed are {} at most", address->size(),
                                                     admission::longest_address));
  };
}

bool are_loopback(const std::vector<SocketAddress>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const SocketAddress& one) { return one.is_loopback(); });
}

Status check_key(const Job& job, bool on_loopback) {
  if (!job.key.empty() || on_loopback) return Status::ok();
  return {Code::InvalidArgument,
          fmt::format("the store {} can be reached from other hosts and the job has no key: set LACUNA_KEY to the same "
                      "secret on all ranks, for instance from `openssl rand -hex 32`",
                      job.store)};
}

Result<Membership> alone(const Job& job, const MakeAddress& make_address) {
  Result<std::vector<std::byte>> address = make_address(true);
  if (!address) return address.status();
  Membership membership;
  membership.on_one_host = true;
  if (!admission::fill_random(std::as_writable_bytes(std::span(&membership.nonce, 1)))) {
    return Status(Code::Internal, "the system has no random numbers");
  }
  membership.silence = job.silence;
  membership.hosts = {job.host};
  membership.machines = {job.machine};
  membership.addresses = {*std::move(address)};
  membership.star.resize(1);
  return membership;
}

/// The store, where the ranks of a job meet.
struct Store {
  Endpoint endpoint;
  std::vector<SocketAddress> addresses;
  bool on_loopback = false;
};

Result<Membership> host(const Job& job, const Store& store, const MakeAddress& make_address,
                        Clock::time_point deadline) {
  if (job.key.empty()) {
    log_warning(Subsystem::Job,
                "the job has no key: any process of this host may join it at {}; set LACUNA_KEY to the same secret on "
                "all ranks, or start them by `lacuna launch`, which makes one",
                job.store);
  }
  Result<Fd> listener = store.on_loopback ? listen_at(store.addresses) : listen_everywhere(store.endpoint.port);
  if (!listener) {
    return Status(Code::Transport, fmt::format("rank 0 cannot listen at the store {}: {}; it must be a free port of "
                                               "rank 0's own host",
                                               job.store, listener.status().message()));
  }
  return Rendezvous(job, *std::move(listener), store.on_loopback).run(make_address, deadline);
}

/// One attempt of a rank above 0 to enter through one connection.
class Visit {
 public:
  Visit(const Job& job, Fd socket, Clock::time_point deadline)
      : job_(job), channel_(std::move(socket), admission::longest_greeting), deadline_(deadline) {}

  /// The error is Busy if the connection ended before rank 0 had answered. Then another attempt may succeed.
  Result<Membership> run(const MakeAddress& make_address) {
    if (Status admitted = get_admitted(); !admitted) return admitted;
    const std::size_t entry = admission::longest_address + admission::longest_host + 24;
    channel_.set_limit(static_cast<std::size_t>(job_.size) * entry + 64);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    admission::send(channel_, admission::Card{.host = job_.host, .machine = job_.machine, .left = left});
    Result<admission::Roster> roster = get_answer([&](const Frame& f) { return admission::read_roster(f, job_.size); });
    if (!roster) return roster.status();
    Result<std::vector<std::byte>> address = make_address(roster->on_one_host);
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
  Status get_admitted() {
    Result<Frame> frame = receive("it accepts connections but says nothing");
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
    frame = receive("it does not answer");
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

  /// Waits for what rank 0 says once it has heard all ranks, and reads it by `read`.
  template <class Read, class Said = typename std::invoke_result_t<Read, const Frame&>::value_type>
  Result<Said> get_answer(const Read& read) {
    Result<Frame> frame = receive("the other ranks did not come in time");
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

  Result<Frame> receive(std::string_view complaint) {
    while (true) {
      if (std::optional<Frame> frame = channel_.next()) return *std::move(frame);
      if (channel_.is_malformed()) return stranger();
      channel_.flush();
      const short events = channel_.has_unsent() ? POLLIN | POLLOUT : POLLIN;
      if (!wait_for(channel_.fd(), events, deadline_)) {
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
  const Clock::time_point deadline_;
};

Result<Membership> visit(const Job& job, const std::vector<SocketAddress>& addresses, const MakeAddress& make_address,
                         Clock::time_point deadline) {
  auto pause = std::chrono::milliseconds(5);
  while (true) {
    Result<Fd> socket = connect_to(addresses, deadline);
    Status last = socket.status();
    if (socket) {
      Result<Membership> outcome = Visit(job, *std::move(socket), deadline).run(make_address);
      if (outcome || outcome.status().code() != Code::Busy) return outcome;
      last = outcome.status();
    }
    if (Clock::now() + pause >= deadline) {
      return Status(Code::TimedOut, fmt::format("rank {} could not reach the store {} within {}: {}", job.rank,
                                                job.store, name_duration(job.timeout), last.message()));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(100));
  }
}

/// A key that nobody can guess.
Result<std::string> fresh_key() {
  std::array<std::byte, 32> bytes{};
  if (!admission::fill_random(bytes)) return Status(Code::Internal, "the system has no random numbers");
  std::string key;
  for (const std::byte byte : bytes) key += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return key;
}

/// The text that invites the others to where rank 0 listens. The job gets a key if it has none, and the store's name.
Result<std::string> invitation_to(const Result<Fd>& listener, Job& job) {
  if (!listener) return Status(Code::Transport, fmt::format("rank 0 cannot listen: {}", listener.status().message()));
  if (job.key.empty()) {
    Result<std::string> key = fresh_key();
    if (!key) return key.status();
    job.key = *std::move(key);
  }
  const Invitation invitation{
      .hosts = addresses_of_host(), .port = port_of(*listener), .machine = job.machine, .key = job.key};
  job.store = fmt::format("{}:{}", job.host, invitation.port);
  std::string text = encode(invitation);
  if (text.size() <= longest_shared_text) return text;
  return Status(Code::InvalidArgument,
                fmt::format("LACUNA_KEY has {} bytes, which no launcher carries: it must have at "
                            "most 128",
                            job.key.size()));
}

/// Rank 0 of a job whose ranks share a text listens at a free port, and invites the others. If it can't, they share an
/// empty text, so that none of them waits.
Result<Membership> invite(Job job, const MakeAddress& make_address, Clock::time_point deadline) {
  Result<Fd> listener = listen_everywhere(0);
  const Result<std::string> text = invitation_to(listener, job);
  const Result<std::string> told = job.share(text ? *text : "");
  if (!text) return text.status();
  if (!told) return told.status();
  return Rendezvous(job, *std::move(listener), false).run(make_address, deadline);
}

/// The other ranks come to where rank 0 has invited them.
Result<Membership> follow_invitation(Job job, const MakeAddress& make_address, Clock::time_point deadline) {
  const auto text = job.share("");
  if (!text) return text.status();
  if (text->empty()) return Status(Code::PeerFailed, "rank 0 can't join, as its own error says");
  const auto invitation = decode_invitation(*text);
  if (!invitation) return Status(Code::Mismatch, "the launcher carries no invitation of a lacuna job of this version");
  job.key = invitation->key;
  const std::vector<SocketAddress> addresses = addresses_of(*invitation, job.machine);
  std::string all;
  for (const SocketAddress& address : addresses) all += (all.empty() ? "" : ", ") + address.to_string();
  job.store = all;
  return visit(job, addresses, make_address, deadline);
}

}  // namespace

Hosts Membership::grouping() const {
  std::vector<std::pair<std::string, std::uint64_t>> names;
  for (std::size_t i = 0; i < hosts.size(); ++i) names.emplace_back(hosts[i], machines[i]);
  return Hosts(names);
}

Result<Membership> join(const Job& job, const MakeAddress& make_address) {
  const Clock::time_point deadline = Clock::now() + job.timeout;
  if (Status valid = check(job); !valid) return valid;
  const MakeAddress make = checked(make_address);
  if (job.size == 1) return alone(job, make);
  if (job.share) return job.rank == 0 ? invite(job, make, deadline) : follow_invitation(job, make, deadline);
  const Result<Endpoint> endpoint = parse_endpoint(job.store);
  if (!endpoint) return endpoint.status();
  Result<std::vector<SocketAddress>> addresses = resolve(*endpoint);
  while (addresses.status().code() == Code::TimedOut && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    addresses = resolve(*endpoint);
  }
  if (!addresses) return addresses.status();
  // A resolver may give any address for localhost, so both the text and the addresses count.
  const bool on_loopback = is_on_loopback(*endpoint) && are_loopback(*addresses);
  if (Status keyed = check_key(job, on_loopback); !keyed) return keyed;
  const Store store{*endpoint, *std::move(addresses), on_loopback};
  return job.rank == 0 ? host(job, store, make, deadline) : visit(job, store.addresses, make, deadline);
}

}  // namespace lacuna::runtime
