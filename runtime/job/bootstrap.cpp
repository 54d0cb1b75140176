#include "runtime/job/bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "runtime/job/admission.hpp"
#include "runtime/job/door.hpp"
#include "runtime/job/invitation.hpp"
#include "runtime/job/names.hpp"
#include "runtime/job/rendezvous.hpp"
#include "runtime/job/visit.hpp"
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
  return [&make_address](const Gathering& gathering) -> Result<std::vector<std::byte>> {
    if (!make_address) return std::vector<std::byte>();
    Result<std::vector<std::byte>> address = make_address(gathering);
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
  Result<std::vector<std::byte>> address = make_address({.on_one_host = true, .shares_memory = job.reach != 0});
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

Result<Membership> host(const Job& job, const Store& store, const MakeAddress& make_address, const Deadline& deadline) {
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

Deadline deadline_of(const Job& job) { return {Clock::now() + job.timeout, job.interrupted}; }

/// Rank 0 of a job waits for the others at its door.
Result<Membership> receive_others(Job job, Door door, const MakeAddress& make_address, const Deadline& deadline) {
  job.key = door.invitation.key(job.key);
  job.store = fmt::format("{}:{}", job.host, door.invitation.port);
  return Rendezvous(job, std::move(door.listener), false).run(make_address, deadline);
}

/// The other ranks come to where rank 0 has invited them.
Result<Membership> follow_invitation(Job job, const UniqueId& id, const MakeAddress& make_address,
                                     const Deadline& deadline) {
  if (!id) return Status(Code::PeerFailed, "rank 0 can't join; its own error says why");
  const auto invitation = decode(id);
  if (!invitation) return Status(Code::Mismatch, "what rank 0 has shared is no unique id of this version of lacuna");
  job.key = invitation->key(job.key);
  const std::vector<SocketAddress> addresses = addresses_of(*invitation, job.machine);
  std::vector<std::string> names;
  for (const SocketAddress& address : addresses) names.push_back(address.to_string());
  job.store = fmt::format("{}", fmt::join(names, ", "));
  return look_for_rank_0(job, addresses, make_address, deadline);
}

/// Rank 0 opens a door and shares the id that invites to it. If it can't, they share an id of zeros, so that none of
/// them waits.
Result<Membership> join_by_sharing(const Job& job, const MakeAddress& make_address) {
  Result<Door> door = job.rank == 0 ? open_door(job.store, job.machine) : Status(Code::Internal, "no door");
  UniqueId id = door ? encode(door->invitation) : UniqueId();
  const Status shared = job.share(id, deadline_of(job));
  if (job.rank == 0 && !door) return door.status();
  if (!shared) return shared;
  const Deadline deadline = deadline_of(job);
  if (job.rank == 0) return receive_others(job, *std::move(door), make_address, deadline);
  return follow_invitation(job, id, make_address, deadline);
}

Result<Membership> join_by_id(const Job& job, const MakeAddress& make_address) {
  const Deadline deadline = deadline_of(job);
  if (job.rank > 0) return follow_invitation(job, job.id, make_address, deadline);
  Result<Door> door = take_door(job.id);
  if (!door) return door.status();
  return receive_others(job, *std::move(door), make_address, deadline);
}

Result<Membership> join_at_store(const Job& job, const MakeAddress& make_address) {
  const Deadline deadline = deadline_of(job);
  const Result<Endpoint> endpoint = parse_endpoint(job.store);
  if (!endpoint) return endpoint.status();
  Result<std::vector<SocketAddress>> addresses = resolve(*endpoint);
  while (addresses.status().code() == Code::TimedOut && !deadline.has_passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    addresses = resolve(*endpoint);
  }
  if (!addresses) return addresses.status();
  // A resolver may give any address for localhost, so both the text and the addresses count.
  const bool on_loopback = is_on_loopback(*endpoint) && are_loopback(*addresses);
  if (Status keyed = check_key(job, on_loopback); !keyed) return keyed;
  const Store store{*endpoint, *std::move(addresses), on_loopback};
  return job.rank == 0 ? host(job, store, make_address, deadline)
                       : visit_store(job, store.addresses, make_address, deadline);
}

}  // namespace

Hosts Membership::grouping() const {
  std::vector<std::pair<std::string, std::uint64_t>> names;
  for (std::size_t i = 0; i < hosts.size(); ++i) names.emplace_back(hosts[i], machines[i]);
  return Hosts(names);
}

Result<Membership> join(const Job& given, const MakeAddress& make_address) {
  if (Status valid = check(given); !valid) return valid;
  const MakeAddress make = checked(make_address);
  if (given.size == 1) return alone(given, make);
  Job job = given;
  bool interrupted = false;
  if (given.interrupted) job.interrupted = [&] { return interrupted = interrupted || given.interrupted(); };
  auto joined = job.share ? join_by_sharing(job, make) : job.id ? join_by_id(job, make) : join_at_store(job, make);
  if (joined || !interrupted) return joined;
  return Status(Code::TimedOut, fmt::format("the program has interrupted the join: {}", joined.status().message()));
}

}  // namespace lacuna::runtime
