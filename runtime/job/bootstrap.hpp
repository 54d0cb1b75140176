#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/channel.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// How a process finds the others of its job.
struct Job {
  Rank rank = 0;
  Rank size = 1;
  std::string store;          ///< host:port where rank 0 listens; unused in a job of one rank
  std::string key;            ///< shared by all ranks; may be empty only if the store is a loopback address
  std::string host;           ///< this process's host name
  std::uint64_t machine = 0;  ///< tells apart hosts of one name; 0: the name alone says which host it is
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds silence{10'000};  ///< for the watch; rank 0's value holds for all ranks
};

/// A job that has come together. Dropping it without handing it to a Watch closes all connections.
struct Membership {
  Rank rank = 0;
  Rank size = 1;
  std::uint64_t nonce = 0;  ///< random, equal on all ranks, another one for each job
  std::chrono::milliseconds silence{0};
  std::vector<std::string> hosts;                 ///< names by rank
  std::vector<std::uint64_t> machines;            ///< by rank
  std::vector<std::vector<std::byte>> addresses;  ///< by rank
  std::vector<Channel> star;  ///< by rank; open are those to rank 0 and, on rank 0, those to all others

  /// Which ranks share a host: those of one name on one machine.
  Hosts grouping() const;
};

/// True if this store, host:port, has loopback addresses only, so that all of its job's ranks are on this host; false
/// also if it has no address (join() then says why). Blocks as long as the resolver of host names does.
bool is_on_one_host(const std::string& store);

/// Joins the job: blocks until all ranks are there, at most `job.timeout` (and what the resolver of host names takes).
/// `address` is what the others get to know about this rank, at most 64 KiB.
///
/// Rank 0 listens at the store; the others may come earlier. Only holders of the key are admitted. Errors reach every
/// rank that is connected at the time:
/// - InvalidArgument: what was given can't work; a wrong key (rank 0 goes on waiting for the right one);
/// - Mismatch: two processes with one rank, differing sizes, differing protocols;
/// - TimedOut: the store or some ranks, named, did not come in time; the text lists who was refused meanwhile;
/// - PeerFailed: rank 0 died; Transport: the store's address can't be used.
/// Thread rule: may be called from several threads, also for several ranks of one job in one process.
Result<Membership> join(const Job& job, std::vector<std::byte> address);

}  // namespace lacuna::runtime
