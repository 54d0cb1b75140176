#include "runtime/job/bootstrap.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>

#include "runtime/job/admission.hpp"
#include "runtime/job/names.hpp"
#include "runtime/job/rendezvous.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {

namespace {

Status check(const Job& job, std::size_t address_bytes) {
  const auto invalid = [](std::string text) { return Status(Code::InvalidArgument, std::move(text)); };
  if (job.size < 1) return invalid(fmt::format("the job has size {}; allowed are 1 and more", job.size));
  if (job.rank < 0 || job.rank >= job.size) {
    return invalid(fmt::format("rank {} in a job of size {}; allowed are 0 to {}", job.rank, job.size, job.size - 1));
  }
  if (job.timeout.count() <= 0 || job.silence.count() <= 0) {
    return invalid(fmt::format("the timeouts of bootstrap and watch are {} and {}; both must be above 0",
                               name_duration(job.timeout), name_duration(job.silence)));
  }
  if (address_bytes > admission::longest_address || job.host.size() > admission::longest_host) {
    return invalid(fmt::format("an address of {} bytes on a host with a name of {}; allowed are {} and {}",
                               address_bytes, job.host.size(), admission::longest_address, admission::longest_host));
  }
  return Status::ok();
}

bool are_loopback(const std::vector<SocketAddress>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const SocketAddress& one) { return one.is_loopback(); });
}

Status check_key(const Job& job, const std::vector<SocketAddress>& addresses) {
  if (!job.key.empty() || are_loopback(addresses)) return Status::ok();
  return {Code::InvalidArgument,
          fmt::format("the store {} can be reached from other hosts and the job has no key: set LACUNA_KEY to the same "
                      "secret on all ranks, for instance from `openssl rand -hex 32`",
                      job.store)};
}

Result<Membership> alone(const Job& job, std::vector<std::byte> address) {
  Membership membership;
  if (!admission::fill_random(std::as_writable_bytes(std::span(&membership.nonce, 1)))) {
    return Status(Code::Internal, "the system has no random numbers");
  }
  membership.silence = job.silence;
  membership.hosts = {job.host};
  membership.machines = {job.machine};
  membership.addresses = {std::move(address)};
  membership.star.resize(1);
  return membership;
}

Result<Membership> host(const Job& job, const std::vector<SocketAddress>& addresses, std::vector<std::byte> address,
                        Clock::time_point deadline) {
  if (job.key.empty()) {
    log_warning(Subsystem::Job,
                "the job has no key: any process of this host may join it at {}; set LACUNA_KEY to the same secret on "
                "all ranks, or start them by `lacuna launch`, which makes one",
                job.store);
  }
  Result<Fd> listener = listen_at(addresses);
  if (!listener) {
    return Status(Code::Transport, fmt::format("rank 0 cannot listen at the store {}: {}; it must be a free port of "
                                               "rank 0's own host",
                                               job.store, listener.status().message()));
  }
  return Rendezvous(job, *std::move(listener), std::move(address)).run(deadline);
}

/// One attempt of a rank above 0 to enter through one connection.
class Visit {
 public:
  Visit(const Job& job, Fd socket, Clock::time_point deadline)
      : job_(job), channel_(std::move(socket), admission::longest_greeting), deadline_(deadline) {}

  /// Busy: the connection ended before rank 0 had answered, so that another attempt may succeed.
  Result<Membership> run(const std::vector<std::byte>& address) {
    if (Status admitted = get_admitted(); !admitted) return admitted;
    const std::size_t entry = admission::longest_address + admission::longest_host + 24;
    channel_.set_limit(static_cast<std::size_t>(job_.size) * entry + 64);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    admission::send(channel_,
                    admission::Card{.host = job_.host, .machine = job_.machine, .address = address, .left = left});
    Result<Frame> frame = receive("the other ranks did not come in time");
    if (!frame) {
      if (frame.status().code() != Code::Busy) return frame.status();
      return Status(Code::PeerFailed,
                    fmt::format("rank 0 at the store {} died while the job came together", job_.store));
    }
    if (std::optional<Status> refused = admission::read_refused(*frame)) return *refused;
    std::optional<admission::Table> table = admission::read_table(*frame, job_.size);
    if (!table) return stranger();
    return member(*std::move(table));
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

  Membership member(admission::Table table) {
    Membership membership;
    membership.rank = job_.rank;
    membership.size = job_.size;
    membership.nonce = table.nonce;
    membership.silence = table.silence;
    membership.hosts = std::move(table.hosts);
    membership.machines = std::move(table.machines);
    membership.addresses = std::move(table.addresses);
    membership.star.resize(static_cast<std::size_t>(job_.size));
    membership.star[0] = std::move(channel_);
    return membership;
  }

  const Job& job_;
  Channel channel_;
  const Clock::time_point deadline_;
};

Result<Membership> visit(const Job& job, const std::vector<SocketAddress>& addresses,
                         const std::vector<std::byte>& address, Clock::time_point deadline) {
  auto pause = std::chrono::milliseconds(5);
  while (true) {
    Result<Fd> socket = connect_to(addresses, deadline);
    Status last = socket.status();
    if (socket) {
      Result<Membership> outcome = Visit(job, *std::move(socket), deadline).run(address);
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

}  // namespace

Hosts Membership::grouping() const {
  std::vector<std::pair<std::string, std::uint64_t>> names;
  for (std::size_t i = 0; i < hosts.size(); ++i) names.emplace_back(hosts[i], machines[i]);
  return Hosts(names);
}

bool is_on_one_host(const std::string& store) {
  const Result<Endpoint> endpoint = parse_endpoint(store);
  if (!endpoint) return false;
  const Result<std::vector<SocketAddress>> addresses = resolve(*endpoint);
  return addresses && are_loopback(*addresses);
}

Result<Membership> join(const Job& job, std::vector<std::byte> address) {
  const Clock::time_point deadline = Clock::now() + job.timeout;
  if (Status checked = check(job, address.size()); !checked) return checked;
  if (job.size == 1) return alone(job, std::move(address));
  const Result<Endpoint> endpoint = parse_endpoint(job.store);
  if (!endpoint) return endpoint.status();
  Result<std::vector<SocketAddress>> addresses = resolve(*endpoint);
  while (addresses.status().code() == Code::TimedOut && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    addresses = resolve(*endpoint);
  }
  if (!addresses) return addresses.status();
  if (Status keyed = check_key(job, *addresses); !keyed) return keyed;
  return job.rank == 0 ? host(job, *addresses, std::move(address), deadline)
                       : visit(job, *addresses, address, deadline);
}

}  // namespace lacuna::runtime
