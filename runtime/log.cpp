#include "runtime/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace lacuna::runtime {
namespace {

constexpr Rank rank_unknown = -1;

struct Sink {
  LogCallback callback = nullptr;
  void* user = nullptr;
};

std::mutex sink_mutex;
Sink sink;
std::atomic<Rank> own_rank = rank_unknown;

void write_to_stderr(LogLevel level, std::string_view text) {
  const Rank rank = own_rank.load(std::memory_order_relaxed);
  const std::string line = rank == rank_unknown
                               ? fmt::format("lacuna {}: {}\n", to_string(level), text)
                               : fmt::format("lacuna [rank {}] {}: {}\n", rank, to_string(level), text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void set_log_level(LogLevel level) { detail::log_threshold.store(static_cast<int>(level), std::memory_order_relaxed); }

void set_log_rank(Rank rank) { own_rank.store(rank, std::memory_order_relaxed); }

void set_log_sink(LogCallback callback, void* user) {
  const std::lock_guard lock(sink_mutex);
  sink = {callback, user};
}

namespace detail {

bool log_level_admits(LogLevel level) {
  const char* given = std::getenv("LACUNA_LOG");
  const LogLevel wanted = parse_log_level(given != nullptr ? given : "").value_or(LogLevel::Warning);
  int expected = log_level_unknown;
  log_threshold.compare_exchange_strong(expected, static_cast<int>(wanted), std::memory_order_relaxed);
  return static_cast<int>(level) <= log_threshold.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
  Sink current;
  {
    const std::lock_guard lock(sink_mutex);
    current = sink;
  }
  if (current.callback != nullptr) {
    current.callback(level, text, current.user);
  } else {
    write_to_stderr(level, text);
  }
}

}  // namespace detail
}  // namespace lacuna::runtime
