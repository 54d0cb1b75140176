// What a 2-rank ring allreduce (f32, sum) costs without any runtime: two processes that move and add the same bytes.
//   bare_allreduce segments|direct|tcp ITERATIONS BYTES...
// segments: halves are exchanged through a small ring of segments in shared memory and added as they arrive.
// direct:   each reads the other's input where it lies in shared memory and writes its half of both outputs.
// tcp:      as segments, over a loopback TCP connection.
// Prints a line "BYTES MILLISECONDS" for each size, the mean over the iterations of the slower process.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

void* shared_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  return memory;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void add(float* out, const float* a, const float* b, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

/// One direction of the exchange through memory: filled by one process, emptied by the other.
struct Ring {
  static constexpr std::size_t segments = 8;
  static constexpr std::size_t segment_bytes = 32 << 10;

  alignas(64) std::atomic<std::size_t> written{0};
  alignas(64) std::atomic<std::size_t> read{0};
  alignas(64) std::byte data[segments][segment_bytes];
};

/// What both processes see.
struct Shared {
  Ring rings[2];  ///< by the process that writes
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<int> generation{0};
  double milliseconds[2] = {};

  void barrier() {
    const int before = generation.load();
    if (arrived.fetch_add(1) == 1) {
      arrived.store(0);
      generation.store(before + 1);
    } else {
      while (generation.load() == before) relax();
    }
  }
};

/// One process of the two, with its part of the data: `own` is the half that it sums.
struct Process {
  int rank = 0;
  Shared* shared = nullptr;
  int socket = -1;
  float* input[2] = {};  ///< of both processes, but only the own one is touched, unless directly
  float* output[2] = {};
  std::size_t half = 0;  ///< elements

  float* own(float* const buffer[2]) const { return buffer[rank] + static_cast<std::size_t>(rank) * half; }
  float* other(float* const buffer[2]) const { return buffer[rank] + static_cast<std::size_t>(1 - rank) * half; }
};

using Consume = std::function<void(std::size_t offset, const std::byte* bytes, std::size_t length)>;

/// Sends `bytes` bytes and hands what arrives, as much, to `consume`.
void exchange_in_memory(const Process& process, const std::byte* from, std::size_t bytes, const Consume& consume) {
  Ring& out = process.shared->rings[process.rank];
  Ring& in = process.shared->rings[1 - process.rank];
  std::size_t sent = 0, taken = 0;
  while (sent < bytes || taken < bytes) {
    bool moved = false;
    const std::size_t written = out.written.load(std::memory_order_relaxed);
    if (sent < bytes && written - out.read.load(std::memory_order_acquire) < Ring::segments) {
      const std::size_t length = std::min(Ring::segment_bytes, bytes - sent);
      std::memcpy(out.data[written % Ring::segments], from + sent, length);
      out.written.store(written + 1, std::memory_order_release);
      sent += length;
      moved = true;
    }
    const std::size_t read = in.read.load(std::memory_order_relaxed);
    if (taken < bytes && read < in.written.load(std::memory_order_acquire)) {
      const std::size_t length = std::min(Ring::segment_bytes, bytes - taken);
      consume(taken, in.data[read % Ring::segments], length);
      in.read.store(read + 1, std::memory_order_release);
      taken += length;
      moved = true;
    }
    if (!moved) relax();
  }
}

void exchange_over_socket(const Process& process, const std::byte* from, std::size_t bytes, const Consume& consume) {
  alignas(64) static std::byte buffer[256 << 10];
  std::size_t sent = 0, taken = 0, held = 0;
  while (sent < bytes || taken < bytes) {
    if (sent < bytes) {
      const ssize_t now = ::send(process.socket, from + sent, std::min(sizeof buffer, bytes - sent), MSG_DONTWAIT);
      if (now < 0 && errno != EAGAIN) die("send");
      sent += static_cast<std::size_t>(std::max<ssize_t>(now, 0));
    }
    if (taken == bytes) continue;
    const std::size_t room = std::min(sizeof buffer - held, bytes - taken - held);
    const ssize_t now = ::recv(process.socket, buffer + held, room, MSG_DONTWAIT);
    if (now == 0 || (now < 0 && errno != EAGAIN)) die("recv");
    if (now < 0) continue;
    held += static_cast<std::size_t>(now);
    const std::size_t whole = held / sizeof(float) * sizeof(float);
    consume(taken, buffer, whole);
    taken += whole;
    held -= whole;
    std::memmove(buffer, buffer + whole, held);
  }
}

/// In chunks, so that the second exchange finds in the cache what the first has summed.
template <class Exchange>
void ring_allreduce(const Process& process, Exchange exchange) {
  constexpr std::size_t chunk = (256 << 10) / sizeof(float);
  for (std::size_t begin = 0; begin < process.half; begin += chunk) {
    const std::size_t count = std::min(chunk, process.half - begin);
    const std::size_t bytes = count * sizeof(float);
    float* sums = process.own(process.output) + begin;
    const float* mine = process.own(process.input) + begin;
    exchange(process, reinterpret_cast<const std::byte*>(process.other(process.input) + begin), bytes,
             [&](std::size_t offset, const std::byte* arrived, std::size_t length) {
               const std::size_t at = offset / sizeof(float);
               add(sums + at, mine + at, reinterpret_cast<const float*>(arrived), length / sizeof(float));
             });
    auto* to = reinterpret_cast<std::byte*>(process.other(process.output) + begin);
    exchange(process, reinterpret_cast<const std::byte*>(sums), bytes,
             [&](std::size_t offset, const std::byte* arrived, std::size_t length) {
               std::memcpy(to + offset, arrived, length);
             });
  }
}

void direct_allreduce(const Process& process) {
  process.shared->barrier();
  const std::size_t begin = static_cast<std::size_t>(process.rank) * process.half;
  const float* a = process.input[0] + begin;
  const float* b = process.input[1] + begin;
  float* first = process.output[0] + begin;
  float* second = process.output[1] + begin;
#pragma GCC ivdep
  for (std::size_t i = 0; i < process.half; ++i) first[i] = second[i] = a[i] + b[i];
  process.shared->barrier();
}

void run_once(const Process& process, std::string_view way) {
  if (way == "direct") return direct_allreduce(process);
  if (way == "tcp") return ring_allreduce(process, exchange_over_socket);
  ring_allreduce(process, exchange_in_memory);
}

/// Warms up, checks the sums once and measures.
void measure(const Process& process, std::string_view way, int iterations) {
  for (std::size_t i = 0; i < 2 * process.half; ++i) {
    process.input[process.rank][i] = static_cast<float>(i % 1000) + static_cast<float>(process.rank);
  }
  process.shared->barrier();
  run_once(process, way);
  for (std::size_t i = 0; i < 2 * process.half; ++i) {
    if (process.output[process.rank][i] != static_cast<float>(i % 1000 * 2 + 1)) {
      std::fprintf(stderr, "bare_allreduce: element %zu of process %d is wrong\n", i, process.rank);
      std::exit(1);
    }
  }
  run_once(process, way);
  process.shared->barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) run_once(process, way);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  process.shared->milliseconds[process.rank] = took.count() / iterations;
  process.shared->barrier();
}

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = static_cast<in_port_t>(port);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connect");
  return socket;
}

struct Listener {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  int port = 0;  ///< in network order

  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(socket, 1) != 0) die("listen");
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
    port = address.sin_port;
  }
};

void run_process(Process process, const Listener& listener, std::string_view way, int iterations) {
  if (way == "tcp") {
    process.socket = process.rank == 0 ? ::accept(listener.socket, nullptr, nullptr) : connect_to(listener.port);
    const int one = 1;
    ::setsockopt(process.socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  measure(process, way, iterations);
}

void run_size(std::string_view way, int iterations, std::size_t bytes) {
  const std::size_t half = bytes / sizeof(float) / 2;
  Process process{.shared = new (shared_memory(sizeof(Shared))) Shared, .half = half};
  for (int rank : {0, 1}) {
    process.input[rank] = static_cast<float*>(shared_memory(bytes));
    process.output[rank] = static_cast<float*>(shared_memory(bytes));
  }
  const Listener listener;
  const pid_t child = ::fork();
  if (child < 0) die("fork");
  process.rank = child == 0 ? 1 : 0;
  run_process(process, listener, way, iterations);
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  std::printf("%zu %.6f\n", half * 2 * sizeof(float),
              std::max(process.shared->milliseconds[0], process.shared->milliseconds[1]));
  ::close(listener.socket);
  for (int rank : {0, 1}) {
    ::munmap(process.input[rank], bytes);
    ::munmap(process.output[rank], bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  const int iterations = argc > 2 ? std::atoi(argv[2]) : 0;
  if (argc < 4 || iterations < 1 || (way != "segments" && way != "direct" && way != "tcp")) {
    std::fprintf(stderr, "usage: bare_allreduce segments|direct|tcp ITERATIONS BYTES...\n");
    return 2;
  }
  for (int i = 3; i < argc; ++i) run_size(way, iterations, std::strtoull(argv[i], nullptr, 10));
}
