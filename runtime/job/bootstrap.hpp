#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::string key;            ///< shared by all ranks; may be empty only if the store's text names loopback
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
  bool on_one_host = false;                       ///< as rank 0 has judged: equal on all ranks
  std::vector<std::string> hosts;                 ///< names by rank
  std::vector<std::uint64_t> machines;            ///< by rank
  std::vector<std::vector<std::byte>> addresses;  ///< by rank
  std::vector<Channel> star;  ///< by rank; open are those to rank 0 and, on rank 0, those to all others

  /// Which ranks share a host: those of one name on one machine.
  Hosts grouping() const;
};

/// Makes what the others get to know about this rank, at most 64 KiB. Called once, by join() on its thread, when all
/// ranks have come: they are on one host, where loopback serves, or may not be. No function stands for no bytes.
using MakeAddress = std::function<Result<std::vector<std::byte>>(bool on_one_host)>;

/// Joins the job: blocks until all ranks are there, at most `job.timeout` (and what the resolver of host names and
/// `make_address` take).
///
/// Rank 0 listens at the store: on loopback if the store's text names that, else on all addresses of its host. The
/// others may come earlier. Only holders of the key are admitted. All ranks are on one host if rank 0 listens on
/// loopback, or if all have the same host name and the same known machine. Errors reach every rank that is connected at
/// the time:
/// - InvalidArgument: what was given can't work; a wrong key (rank 0 goes on waiting for the right one);
/// - Mismatch: two processes with one rank, differing sizes, differing protocols;
/// - TimedOut: the store or some ranks, named, did not come in time; the text lists who was refused meanwhile;
/// - PeerFailed: a rank died, or could not make its address; Transport: the store's address can't be used;
/// - that of make_address, on the rank where it failed.
/// Thread rule: may be called from several threads, also for several ranks of one job in one process.
Result<Membership> join(const Job& job, const MakeAddress& make_address = {});

}  // namespace lacuna::runtime
