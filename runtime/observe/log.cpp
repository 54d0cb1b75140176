#include "runtime/observe/log.hpp"

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

void set_log_levels(const LogLevels& levels) {
  for (Subsystem subsystem : all_subsystems) {
    auto& threshold = detail::log_thresholds[static_cast<std::size_t>(subsystem)].level;
    threshold.store(static_cast<int>(levels.of(subsystem)), std::memory_order_relaxed);
  }
}

void set_log_rank(Rank rank) { own_rank.store(rank, std::memory_order_relaxed); }

void set_log_sink(LogCallback callback, void* user) {
  const std::lock_guard lock(sink_mutex);
  sink = {callback, user};
}

namespace detail {

bool log_level_admits(Subsystem subsystem, LogLevel level) {
  const char* given = std::getenv("LACUNA_LOG");
  const LogLevels wanted = LogLevels::parse(given != nullptr ? given : "").value_or(LogLevels());
  for (Subsystem one : all_subsystems) {
    int expected = log_level_unknown;
    log_thresholds[static_cast<std::size_t>(one)].level.compare_exchange_strong(
        expected, static_cast<int>(wanted.of(one)), std::memory_order_relaxed);
  }
  const auto& threshold = log_thresholds[static_cast<std::size_t>(subsystem)].level;
  return static_cast<int>(level) <= threshold.load(std::memory_order_relaxed);
}

void log_line(Subsystem subsystem, LogLevel level, std::string_view message) {
  const std::string text = fmt::format("{}: {}", to_string(subsystem), message);
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
