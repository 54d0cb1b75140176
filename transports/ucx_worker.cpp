#include "transports/ucx_worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/values/count_of.hpp"
#include "runtime/values/fd.hpp"
#include "runtime/values/thread.hpp"

namespace lacuna {
namespace {

void set_default(const std::string& name, const std::string& value) { ::setenv(name.c_str(), value.c_str(), 0); }

/// Does UCX_TLS allow UCX to use this device? UCX warns about variables that no device in use reads, and once it is
/// loaded nobody can stop that.
bool is_allowed(std::string_view device, std::initializer_list<std::string_view> families) {
  const char* variable = std::getenv("UCX_TLS");
  std::string_view list = variable ? variable : "all";
  const bool listed_are_out = list.starts_with('^');
  if (listed_are_out) list.remove_prefix(1);
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    more = comma != list.npos;
    const std::string_view name = list.substr(0, comma);
    if (name == device || std::find(families.begin(), families.end(), name) != families.end()) return !listed_are_out;
    if (more) list.remove_prefix(comma + 1);
  }
  return listed_are_out;
}

/// UCX_POSIX_FIFO_SIZE. UCX takes a buffer for each place of the queue, and one more.
constexpr std::size_t posix_queue = 64;
/// UCX_POSIX_FIFO_ELEM_SIZE, the bytes of a place in the queue. A message that fits there with all headers needs no
/// buffer, which makes it a sixth faster. UCX's default is 128.
constexpr std::size_t posix_place = 640;
/// UCX_POSIX_RX_BUFS_GROW. UCX makes so many buffers at a time, and here it does so twice.
constexpr std::size_t posix_buffers = 64;
/// UCX 1.22 makes no segment if less than this is free (UCX_POSIX_SHM_MIN_SIZE). It crashes if that happens after it
/// has made one.
constexpr std::size_t posix_reserve = 16 << 20;
const std::string posix_folder = "/dev/shm";

/// The bytes that POSIX shared memory takes of /dev/shm for each rank.
std::size_t posix_need(const UcxOptions& options) {
  return 2 * posix_buffers * options.shared_memory_segment + (64 << 10);
}

/// Leaves POSIX shared memory out, unless the user has chosen transports. UCX then uses the shared memory of SysV,
/// which needs no folder.
void leave_posix_out() {
  if (std::getenv("UCX_TLS")) return;
  set_default("UCX_TLS", "^posix");
  ::unsetenv("UCX_POSIX_DIR");  // UCX would warn that nothing reads it
}

/// The folder where POSIX shared memory lies.
struct PosixFolder {
  std::size_t free = 0, size = 0;  ///< bytes
  int unwritable = 0;              ///< the errno that says why nothing can be written there; 0: it can

  static std::optional<PosixFolder> look() {
    struct statvfs found {};
    if (::statvfs(posix_folder.c_str(), &found) != 0) return std::nullopt;
    return PosixFolder{.free = found.f_bavail * found.f_frsize,
                       .size = found.f_blocks * found.f_frsize,
                       .unwritable = ::access(posix_folder.c_str(), W_OK) == 0 ? 0 : errno};
  }
  bool suffices(const UcxOptions& options) const {
    return unwritable == 0 && free >= options.ranks * posix_need(options);
  }
};

/// Leaves POSIX shared memory out if /dev/shm is too small, as in containers, or read-only. Then UCX would not start.
void avoid_small_folder(const UcxOptions& options) {
  const auto folder = PosixFolder::look();
  if (folder && (folder->unwritable != 0 || folder->free < posix_need(options) + posix_reserve)) leave_posix_out();
}

/// If /dev/shm has little room, ranks that start at the same time take turns, even ranks of other jobs. So the room
/// that a rank finds free is still free when UCX takes it. A rank waits for its turn for a limited time, and then
/// starts anyway.
class StartTurn {
 public:
  explicit StartTurn(const UcxOptions& options) {
    const auto folder = PosixFolder::look();
    if (!ucx_tries_posix() || !folder || folder->unwritable != 0) return;
    if (folder->free > plenty * options.ranks * posix_need(options)) return;
    folder_ = runtime::Fd(::open(posix_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto until = std::chrono::steady_clock::now() + longest_wait;
    while (folder_.is_open() && ::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0 &&
           std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  StartTurn(const StartTurn&) = delete;
  StartTurn& operator=(const StartTurn&) = delete;

 private:
  static constexpr std::size_t plenty = 16;
  static constexpr std::chrono::seconds longest_wait{15};
  runtime::Fd folder_;
};

/// Says what may be wrong with shared memory, for the error if UCX did not start.
std::string shared_memory_hint(const UcxOptions& options) {
  const auto folder = PosixFolder::look();
  if (!ucx_tries_posix() || !folder || folder->suffices(options)) return {};
  if (folder->unwritable != 0) {
    return fmt::format(
        "; {} cannot be written ({}), and POSIX shared memory lies there: make it writable, or leave it "
        "out by UCX_TLS=^posix",
        posix_folder, std::strerror(folder->unwritable));
  }
  return fmt::format(
      "; {} has {:.1f} MB free of {:.1f} MB, and POSIX shared memory needs {:.1f} MB of it for each of "
      "{}: enlarge it (docker run --shm-size), or leave it out by UCX_TLS=^posix",
      posix_folder, 1e-6 * static_cast<double>(folder->free), 1e-6 * static_cast<double>(folder->size),
      1e-6 * static_cast<double>(posix_need(options)), count_of(options.ranks, "rank"));
}

void set_defaults(const UcxOptions& options) {
  avoid_small_folder(options);
  for (const std::string device : {"sysv", "posix"}) {
    if (!is_allowed(device, {"all", "sm", "shm", "mm"})) continue;
    const std::string prefix = device == "sysv" ? "UCX_SYSV_" : "UCX_POSIX_";
    set_default(prefix + "ERROR_HANDLING", "y");
    set_default(prefix + "SEG_SIZE", std::to_string(options.shared_memory_segment));
    set_default(prefix + "FIFO_SIZE", std::to_string(posix_queue));
    set_default(prefix + "FIFO_ELEM_SIZE", std::to_string(posix_place));
    set_default(prefix + "RX_BUFS_GROW", std::to_string(posix_buffers));
  }
  if (is_allowed("tcp", {"all"})) set_default("UCX_TCP_CONN_NB", "y");
  if (is_allowed("tcp", {"all"}) && !std::getenv("UCX_TCP_TX_SEG_SIZE") && !std::getenv("UCX_TCP_RX_SEG_SIZE")) {
    set_default("UCX_TCP_TX_SEG_SIZE", std::to_string(options.tcp_segment));
    set_default("UCX_TCP_RX_SEG_SIZE", std::to_string(options.tcp_segment));
  }
  if (is_allowed("self", {"all"})) {
    set_default("UCX_SELF_SEG_SIZE", std::to_string(std::max(options.shared_memory_segment, options.tcp_segment)));
  }
}

Status error(const char* what, ucs_status_t status) {
  return {Code::Transport, fmt::format("UCX: {}: {}", what, ucs_status_string(status))};
}

Status start_context(UcxWorker& ucx, const UcxOptions& options) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return error("reading the UCX_ variables", status);
  if (options.on_one_host && !std::getenv("UCX_NET_DEVICES") && is_allowed("tcp", {"all"})) {
    static_cast<void>(ucp_config_modify(config, "NET_DEVICES", "lo"));
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  if (status != UCS_OK) return error("starting", status);
  ucx.context.reset(context);
  return {};
}

Status start_worker(UcxWorker& ucx, const UcxOptions& options) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  ucs_status_t status = ucp_worker_create(ucx.context.get(), &params, &worker);
  if (status != UCS_OK) {
    const Status told = error("creating a worker", status);
    return {told.code(), fmt::format("{}{}", told.message(), shared_memory_hint(options))};
  }
  ucx.worker.reset(worker);
  status = ucp_worker_get_efd(worker, &ucx.event_fd);
  return status == UCS_OK ? Status() : error("making an event descriptor", status);
}

// UCX's longest header is what one fragment of every device takes beside UCX's own headers. So a header and a payload
// are never cut if together they are no longer than that.
Status read_attributes(UcxWorker& ucx, const UcxOptions&) {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  const ucs_status_t status = ucp_worker_query(ucx.worker.get(), &attributes);
  if (status != UCS_OK) return error("asking for the worker's address", status);
  const auto* address = reinterpret_cast<const std::byte*>(attributes.address);
  ucx.address.assign(address, address + attributes.address_length);
  ucp_worker_release_address(ucx.worker.get(), attributes.address);
  ucx.largest_fragment = attributes.max_am_header;
  if (ucx.largest_fragment >= max_header_bytes + 64) return {};
  return {Code::Transport, fmt::format("UCX: the smallest fragment of the devices in use takes {} bytes; at least {} "
                                       "are needed (see UCX_TLS and UCX_..._SEG_SIZE)",
                                       ucx.largest_fragment, max_header_bytes + 64)};
}

Result<UcxWorker> start(const UcxOptions& options) {
  UcxWorker ucx;
  for (const auto step : {start_context, start_worker, read_attributes}) {
    if (Status status = step(ucx, options); !status) return status;
  }
  return ucx;
}

}  // namespace

bool ucx_tries_posix() { return is_allowed("posix", {"all", "sm", "shm", "mm"}); }

void ReleaseUcx::operator()(ucp_context* context) const { ucp_cleanup(context); }

void ReleaseUcx::operator()(ucp_worker* worker) const { ucp_worker_destroy(worker); }

Result<UcxWorker> start_ucx(const UcxOptions& options) {
  const StartTurn turn(options);
  set_defaults(options);
  const SignalsBlocked blocked;  // the thread that UCX starts takes this over
  Result<UcxWorker> ucx = start(options);
  if (ucx || std::getenv("UCX_TLS")) return ucx;
  // Programs that take no turns may have taken the room in /dev/shm that was free a moment ago.
  leave_posix_out();
  return start(options);
}

}  // namespace lacuna
