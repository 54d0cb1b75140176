#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/status.hpp"
#include "transports/transport.hpp"

namespace lacuna {

/// Settings of UCX, where its variables do not say otherwise.
struct UcxOptions {
  /// The sizes of UCX's own buffers, in bytes. The smaller one of those in use bounds eager_limit().
  std::size_t shared_memory_segment = 32 << 10;
  std::size_t tcp_segment = 64 << 10;
  /// All ranks are on this host. Of its network devices, UCX then uses only loopback, and listens nowhere else.
  bool on_one_host = false;
  /// All ranks reach each other's memory: they have the same ucx_reach(), which is not 0. UCX then gets no TCP, and
  /// listens nowhere.
  bool shares_memory = false;
  /// The number of ranks of the job. If all are on this host, there must be enough shared memory for them.
  std::size_t ranks = 1;
  /// Tells this host apart from all others of the job. Processes with the same number map each other's
  /// MappableHeap. 0: no process does.
  std::uint64_t host = 0;
};

/// A transport over UCX's active messages, for host memory. UCX chooses how bytes travel (shared memory inside a host,
/// TCP or better between hosts) from its own variables: UCX_TLS, UCX_NET_DEVICES and so on remain the user's.
///
/// This sets the following variables in the environment of the process, unless they are set already, because UCX offers
/// no other way. A process that reads its environment in another thread must make its transport before that.
/// - UCX_SYSV_ERROR_HANDLING=y, UCX_POSIX_ERROR_HANDLING=y: without them UCX uses TCP inside a host too, because the
///   endpoints of lacuna must be able to fail without ending the process;
/// - UCX_SYSV_SEG_SIZE, UCX_POSIX_SEG_SIZE: options.shared_memory_segment; UCX_SYSV_RX_BUFS_GROW and
///   UCX_POSIX_RX_BUFS_GROW: 64, so that larger segments take no more shared memory than UCX's default;
/// - UCX_SYSV_FIFO_SIZE and UCX_POSIX_FIFO_SIZE: 64, as in UCX 1.13; UCX 1.22 would take more than twice the memory,
///   and crashes if there is less;
/// - UCX_SYSV_FIFO_ELEM_SIZE and UCX_POSIX_FIFO_ELEM_SIZE: 640, so that messages of up to half a KiB lie in the queue
///   itself;
/// - UCX_TCP_TX_SEG_SIZE and UCX_TCP_RX_SEG_SIZE: options.tcp_segment, if neither is set;
/// - UCX_TCP_CONN_NB=y: without it UCX 1.13 may abort a process that connects to a peer which has just died;
/// - UCX_SELF_SEG_SIZE: the larger one of the two sizes, so that the unused device for messages to itself does not
/// bound
///   eager_limit().
/// All ranks of a job must see the same values.
///
/// If UCX_TLS is not set, UCX starts without a kind of shared memory that does not work or has too little room for this
/// rank, even if others take that room while UCX starts. If /dev/shm is left out, UCX_POSIX_DIR, which nothing reads
/// then, is removed.
///
/// UCX's listeners are not authenticated: whoever can reach one can take the process over. With options.shares_memory
/// there is none, unless UCX_TLS asks for TCP. With options.on_one_host they are on loopback, unless UCX_NET_DEVICES
/// says otherwise.
///
/// Some limits of UCX show. eager_limit() follows the smallest fragment of any device that UCX has opened, whether it
/// is used or not. UCX may choose to send the bytes of a descriptor with it; then its send completes before the fetch.
/// The death of a peer that is reached by shared memory is not noticed. Messages of a process to itself stay inside the
/// transport.
///
/// close() tells all peers that were in contact, and waits until they have answered, which they do in progress() or in
/// their own close(). A peer that has left in this way has not failed, but a send to it ends with PeerFailed. The
/// result is TimedOut if a peer did not answer; then UCX's own memory may stay in use until the process ends.
///
/// The error is Transport if UCX refuses to start.
Result<std::unique_ptr<Transport>> make_ucx(const UcxOptions& options);

/// Returns the transports of UCX that a process with these options and this environment may use, each with its device,
/// such as "tcp/lo". It starts UCX to ask it, and so sets the variables that make_ucx() sets.
Result<std::vector<std::string>> ucx_devices(const UcxOptions& options);

/// A number that is equal in processes of one machine whose UCX reaches each other by shared memory, which is tried.
/// 0: no process reaches this one so.
std::uint64_t ucx_reach(const UcxOptions& options);

/// Says why UCX listens at a port with these options and this environment. Empty: it does not.
std::string why_ucx_listens(const UcxOptions& options);

/// Does UCX_TLS in the environment allow UCX to try POSIX shared memory?
bool ucx_tries_posix();

/// The version of the UCX library that is loaded, such as "1.13.1".
std::string_view ucx_version();

}  // namespace lacuna
