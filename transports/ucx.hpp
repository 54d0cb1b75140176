#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "runtime/values/status.hpp"
#include "transports/transport.hpp"

namespace lacuna {

/// What UCX takes, unless its variables say otherwise.
struct UcxOptions {
  /// Sizes of UCX's own buffers. The smaller of those in use bounds eager_limit().
  std::size_t shared_memory_segment = 32 << 10;
  std::size_t tcp_segment = 64 << 10;
  /// All ranks are on this host: of its network devices UCX takes the loopback one only, and listens nowhere else.
  bool on_one_host = false;
  /// Of the job: what shared memory must suffice for if all are on this host.
  std::size_t ranks = 1;
};

/// A transport over UCX's active messages, for host memory. UCX chooses how bytes travel (shared memory inside a host,
/// TCP or better between hosts) from its own variables: UCX_TLS, UCX_NET_DEVICES and so on remain the user's.
///
/// These variables are put into the environment of the process where they are not set yet, because UCX offers no other
/// way; a process that also reads its environment in another thread makes its transport first:
/// - UCX_SYSV_ERROR_HANDLING=y, UCX_POSIX_ERROR_HANDLING=y: without them UCX takes TCP inside a host too, for endpoints
///   that can fail without ending the process, as ours can;
/// - UCX_SYSV_SEG_SIZE, UCX_POSIX_SEG_SIZE: options.shared_memory_segment; UCX_SYSV_RX_BUFS_GROW and
///   UCX_POSIX_RX_BUFS_GROW: 64, so that larger segments take no more shared memory than UCX's default;
/// - UCX_SYSV_FIFO_SIZE and UCX_POSIX_FIFO_SIZE: 64, as in UCX 1.13; UCX 1.22 would take more than twice
///   the memory, and crashes where there is less;
/// - UCX_TCP_TX_SEG_SIZE and UCX_TCP_RX_SEG_SIZE: options.tcp_segment, if neither is set;
/// - UCX_TCP_CONN_NB=y: without it UCX 1.13 may abort a process that connects to a peer which has just died;
/// - UCX_TLS=^posix, where /dev/shm cannot be written or has too little room for this rank, also if others take that
///   room while UCX starts: SysV's shared memory serves then; UCX_POSIX_DIR, which nothing reads then, is removed;
/// - UCX_SELF_SEG_SIZE: the larger of the two, so that the unused loopback device does not bound eager_limit().
/// All ranks of a job must see the same values. UCX's listeners are not authenticated: what can reach one can end the
/// process. With options.on_one_host they are on loopback, unless UCX_NET_DEVICES says otherwise.
///
/// Limits of UCX that show: eager_limit() follows the smallest fragment of any device that UCX has opened, whether it
/// is used or not. A descriptor may reach the receiver with its bytes, when UCX chooses so; its sender is then
/// completed before the fetch. The death of a peer that is reached by shared memory is not noticed. Messages of a
/// process to itself stay inside the transport.
///
/// close() tells all peers that were in contact, and waits until they have answered, which they do in progress() or in
/// a close() of their own. A peer that has left so is no failure; sending to it is (PeerFailed). The result is TimedOut
/// if somebody did not answer; UCX's own memory may then stay in use until the process ends.
///
/// Transport if UCX refuses to start.
Result<std::unique_ptr<Transport>> make_ucx(const UcxOptions& options);

/// Does UCX_TLS, as it is in the environment, let UCX try POSIX shared memory?
bool ucx_tries_posix();

/// The version of the UCX library that is loaded, such as "1.13.1".
std::string_view ucx_version();

}  // namespace lacuna
