#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/job/channel.hpp"
#include "runtime/job/sharing.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/status.hpp"
#include "runtime/values/unique_id.hpp"

namespace lacuna::runtime {

/// How a process finds the others of its job.
struct Job {
  Rank rank = 0;
  Rank size = 1;
  /// The host:port where rank 0 listens; unused in a job of one rank. With `share` it may be empty, or have the port 0:
  /// then rank 0 takes a free port.
  std::string store;
  Share share{};  ///< how rank 0 tells the others where it listens; empty: they know it by the store or the id
  UniqueId id{};  ///< invites to a door that rank 0 keeps (keep_door())
  /// Equal on all ranks. It may be empty only if the store's text names loopback, or if the ranks have `share` or `id`,
  /// which bring a secret.
  std::string key;
  std::string host;           ///< the host name that this process reports
  std::uint64_t machine = 0;  ///< tells apart hosts with the same name; 0: the name alone says which host it is
  /// Equal in processes of one machine that reach each other's memory; 0: nobody reaches this process's.
  std::uint64_t reach = 0;
  /// Makes what rank 0 tells all ranks before they make their addresses, 256 bytes at most. It is called on rank 0 if
  /// all ranks are on one host. Empty: nothing is told.
  std::function<std::vector<std::byte>()> offer{};
  std::chrono::milliseconds timeout{60'000};
  Interrupted interrupted{};  ///< ends the join when it returns true, and is not asked again then; empty: nothing does
  std::chrono::milliseconds silence{
      10'000};  ///< after so long a rank counts as stopped; rank 0's value holds for all ranks
};

/// A job that all ranks have joined. If it is destroyed before a Watch has taken it, all connections are closed.
struct Membership {
  Rank rank = 0;
  Rank size = 1;
  Rank aggregators = 0;     ///< so many of the last ranks are aggregators; whoever has joined sets it
  std::uint64_t nonce = 0;  ///< a random number, equal on all ranks and different for each job
  std::chrono::milliseconds silence{0};
  bool on_one_host = false;                       ///< what rank 0 has found: equal on all ranks
  std::vector<std::string> hosts;                 ///< the host name of each rank
  std::vector<std::uint64_t> machines;            ///< Job::machine of each rank
  std::vector<std::vector<std::byte>> addresses;  ///< what each rank's MakeAddress has made
  std::vector<Channel> star;  ///< by rank; rank 0 has one to each rank, the others only one to rank 0

  /// Says which ranks share a host: those with the same name and machine.
  Hosts grouping() const;
};

/// What a rank knows when it makes its address.
struct Gathering {
  bool on_one_host = false;    ///< all ranks are on one host, where loopback is enough; if not, they may be on several
  bool shares_memory = false;  ///< they are, and each reaches the memory of all others
  std::vector<std::byte> offer{};  ///< what rank 0's Job::offer has made
};

/// Makes the bytes that the other ranks get from this rank, at most 64 KiB. join() calls it once, on its own thread,
/// when all ranks have come. Without a function the bytes are empty.
using MakeAddress = std::function<Result<std::vector<std::byte>>(const Gathering& gathering)>;

/// Joins the job. It blocks until all ranks have come, or for `job.timeout`; the resolver of host names and
/// `make_address` may add to that, and `job.share` may take as long before.
///
/// Rank 0 listens at the store: on loopback if the store's text names loopback, or else on all addresses of its host.
/// Other ranks may come before rank 0. Only holders of the key are admitted. All ranks are on one host if rank 0
/// listens on loopback, or if all have the same host name and the same known machine. Every rank that is connected at
/// the time gets the error:
/// - InvalidArgument: the arguments can't work, or the key is wrong; then rank 0 goes on to wait for the right one;
/// - Mismatch: two processes have one rank, or sizes or protocols differ;
/// - TimedOut: the store or some ranks did not come in time; the text names them, and who was refused meanwhile;
/// - TimedOut too: this rank's program has interrupted the join; the text says so;
/// - PeerFailed: a rank died, or could not make its address;
/// - Transport: the store's address can't be used;
/// - the error of make_address, on the rank where it failed.
/// Thread rule: several threads may call it, also for several ranks of one job in one process.
Result<Membership> join(const Job& job, const MakeAddress& make_address = {});

}  // namespace lacuna::runtime
