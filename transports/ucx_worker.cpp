#include "transports/ucx_worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
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
#include <system_error>
#include <thread>

#include "runtime/values/count_of.hpp"
#include "runtime/values/fd.hpp"
#include "runtime/values/thread.hpp"
#include "transports/shared_memory.hpp"

namespace lacuna {
namespace {

void set_default(const std::string& name, const std::string& value) { ::setenv(name.c_str(), value.c_str(), 0); }

/// The devices that the user has chosen, or null.
const char* users_choice() { return std::getenv("UCX_TLS"); }

using Families = std::initializer_list<std::string_view>;

/// Does such a value of UCX_TLS allow UCX to use this device, which belongs to these families? UCX warns about
/// variables that no device in use reads, and once it is loaded nobody can stop that.
bool is_allowed(std::string_view list, std::string_view device, Families families) {
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

bool has_tcp(std::string_view list) { return is_allowed(list, "tcp", {"all"}); }
bool has_shared_memory(std::string_view list, std::string_view device) {
  return is_allowed(list, device, {"all", "sm", "shm", "mm"});
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

/// The bytes that POSIX shared memory takes of /dev/shm for each rank.
std::size_t posix_need(const UcxOptions& options) {
  return 2 * posix_buffers * options.shared_memory_segment + (64 << 10);
}

/// The devices that UCX does without, if the user has chosen none. It would not start with a kind of shared memory that
/// does not work or, as in containers, has too little room.
struct LeftOut {
  LeftOut(const UcxOptions& options, const SharedMemory& memory)
      : posix(!memory.has_posix(posix_need(options) + posix_reserve)),
        sysv(!memory.has_sysv()),
        tcp(options.shares_memory) {}

  bool is_everything() const { return posix && sysv && tcp; }
  /// The value of UCX_TLS.
  std::string text() const {
    std::string list = "all";
    for (const auto& [is_out, name] : {std::pair(posix, "posix"), {sysv, "sysv"}, {tcp, "tcp"}}) {
      if (is_out) list = (list == "all" ? "^" : list + ",") + name;
    }
    return list;
  }

  bool posix, sysv, tcp;
};

/// If /dev/shm has little room, ranks that start at the same time take turns, even ranks of other jobs. So the room
/// that a rank finds free is still free when UCX takes it. A rank waits for its turn for a limited time, and then
/// starts anyway.
class StartTurn {
 public:
  explicit StartTurn(const UcxOptions& options) {
    const SharedMemory memory = SharedMemory::look();
    if (!ucx_tries_posix() || memory.posix_problem != 0) return;
    if (memory.free > plenty * options.ranks * posix_need(options)) return;
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
  const SharedMemory memory = SharedMemory::look();
  const std::string_view devices = users_choice() ? users_choice() : "all";
  std::string hint;
  if (!memory.has_sysv() && has_shared_memory(devices, "sysv")) {
    hint = fmt::format("; the system gives no shared memory of SysV ({}; see /proc/sys/kernel/shmmni)",
                       std::strerror(memory.sysv_problem));
  }
  if (!has_shared_memory(devices, "posix") || memory.has_posix(options.ranks * posix_need(options))) return hint;
  if (memory.posix_problem != 0) {
    return hint + fmt::format(
                      "; {} cannot be written ({}), and POSIX shared memory lies there: make it writable, or "
                      "leave it out by UCX_TLS=^posix",
                      posix_folder, std::strerror(memory.posix_problem));
  }
  return hint + fmt::format(
                    "; {} has {:.1f} MB free of {:.1f} MB, and POSIX shared memory needs {:.1f} MB of it for "
                    "each of {}: enlarge it (docker run --shm-size), or leave it out by UCX_TLS=^posix",
                    posix_folder, 1e-6 * static_cast<double>(memory.free), 1e-6 * static_cast<double>(memory.size),
                    1e-6 * static_cast<double>(posix_need(options)), count_of(options.ranks, "rank"));
}

/// `devices` is the value of UCX_TLS that counts.
void set_defaults(const UcxOptions& options, std::string_view devices) {
  if (!has_shared_memory(devices, "posix") && !users_choice()) ::unsetenv("UCX_POSIX_DIR");  // nothing would read it
  for (const std::string device : {"sysv", "posix"}) {
    if (!has_shared_memory(devices, device)) continue;
    const std::string prefix = device == "sysv" ? "UCX_SYSV_" : "UCX_POSIX_";
    set_default(prefix + "ERROR_HANDLING", "y");
    set_default(prefix + "SEG_SIZE", std::to_string(options.shared_memory_segment));
    set_default(prefix + "FIFO_SIZE", std::to_string(posix_queue));
    set_default(prefix + "FIFO_ELEM_SIZE", std::to_string(posix_place));
    set_default(prefix + "RX_BUFS_GROW", std::to_string(posix_buffers));
  }
  if (has_tcp(devices)) set_default("UCX_TCP_CONN_NB", "y");
  if (has_tcp(devices) && !std::getenv("UCX_TCP_TX_SEG_SIZE") && !std::getenv("UCX_TCP_RX_SEG_SIZE")) {
    set_default("UCX_TCP_TX_SEG_SIZE", std::to_string(options.tcp_segment));
    set_default("UCX_TCP_RX_SEG_SIZE", std::to_string(options.tcp_segment));
  }
  if (is_allowed(devices, "self", {"all"})) {
    set_default("UCX_SELF_SEG_SIZE", std::to_string(std::max(options.shared_memory_segment, options.tcp_segment)));
  }
}

Status error(const char* what, ucs_status_t status) {
  return {Code::Transport, fmt::format("UCX: {}: {}", what, ucs_status_string(status))};
}

Status start_context(UcxWorker& ucx, const UcxOptions& options, const std::string& devices) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return error("reading the UCX_ variables", status);
  // A variable would also count for processes that this one starts, and for its next job.
  if (!users_choice() && devices != "all") status = ucp_config_modify(config, "TLS", devices.c_str());
  if (options.on_one_host && !std::getenv("UCX_NET_DEVICES") && has_tcp(devices)) {
    static_cast<void>(ucp_config_modify(config, "NET_DEVICES", "lo"));
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (status == UCS_OK) status = ucp_init(&params, config, &context);
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
Status read_attributes(UcxWorker& ucx) {
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

/// UCX ends the process if it gets no thread. Without /proc it takes each peer for dead.
Status check_system() {
  if (::access("/proc/self/stat", R_OK) != 0) {
    return {Code::Transport,
            fmt::format("UCX needs /proc, and /proc/self/stat can't be read: {}", std::strerror(errno))};
  }
  try {
    start_thread([] {}).join();
    return {};
  } catch (const std::system_error& error) {
    return {Code::Internal,
            fmt::format("the system has no thread for UCX: {} (see `ulimit -u` and `ulimit -v`)", error.what())};
  }
}

Result<UcxWorker> start(const UcxOptions& options, const std::string& devices) {
  set_defaults(options, devices);
  UcxWorker ucx;
  Status started = start_context(ucx, options, devices);
  if (started) started = start_worker(ucx, options);
  if (started) started = read_attributes(ucx);
  if (!started) return started;
  return ucx;
}

}  // namespace

bool ucx_tries_posix() { return has_shared_memory(users_choice() ? users_choice() : "all", "posix"); }

std::uint64_t ucx_reach(const UcxOptions& options) {
  return SharedMemory::look().reach(options.ranks * posix_need(options) + posix_reserve);
}

std::string why_ucx_listens(const UcxOptions& options) {
  const char* const choice = users_choice();
  if (choice) return has_tcp(choice) ? fmt::format("UCX_TLS is {}", choice) : "";
  if (options.shares_memory) return "";
  if (!options.on_one_host) return "the ranks may be on several hosts";
  return ucx_reach(options) == 0
             ? "no shared memory can be made"
             : "some ranks reach no memory of others: they are of several users, in namespaces of their own (of IPC or "
               "of processes), or have another /dev/shm";
}

void ReleaseUcx::operator()(ucp_context* context) const { ucp_cleanup(context); }

void ReleaseUcx::operator()(ucp_worker* worker) const { ucp_worker_destroy(worker); }

Result<UcxWorker> start_ucx(const UcxOptions& options) {
  if (Status fit = check_system(); !fit) return fit;
  const StartTurn turn(options);
  const SignalsBlocked blocked;  // the thread that UCX starts takes this over
  if (users_choice()) return start(options, users_choice());
  const LeftOut left_out(options, SharedMemory::look());
  Result<UcxWorker> ucx =
      left_out.is_everything()
          ? Status(Code::Transport, "UCX: no shared memory is left for this rank" + shared_memory_hint(options))
          : start(options, left_out.text());
  // Programs that take no turns may have taken what was free a moment ago.
  for (bool LeftOut::*kind : {&LeftOut::posix, &LeftOut::sysv}) {
    LeftOut fewer = left_out;
    fewer.*kind = true;
    if (!ucx && !(left_out.*kind) && !fewer.is_everything()) ucx = start(options, fewer.text());
  }
  return ucx;
}

}  // namespace lacuna
