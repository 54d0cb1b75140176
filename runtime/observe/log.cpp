#include "runtime/observe/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/observe/log_writer.hpp"
#include "runtime/values/thread.hpp"
#include "runtime/values/utf8.hpp"

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

std::string text_of(Subsystem subsystem, std::string_view message) {
  return escape_other_than_utf8(fmt::format("{}: {}", to_string(subsystem), message));
}

void write_to_stderr(LogLevel level, std::string_view text) {
  const Rank rank = own_rank.load(std::memory_order_relaxed);
  const std::string line = rank == rank_unknown
                               ? fmt::format("lacuna {}: {}\n", to_string(level), text)
                               : fmt::format("lacuna [rank {}] {}: {}\n", rank, to_string(level), text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

struct Line {
  LogLevel level;
  std::string text;
};

Sink current_sink() {
  const std::lock_guard lock(sink_mutex);
  return sink;
}

void write(const Line& line) {
  const Sink to = current_sink();
  if (to.callback != nullptr) {
    to.callback(line.level, line.text, to.user);
  } else {
    write_to_stderr(line.level, line.text);
  }
}

/// The writer of this process. It is never destroyed, because the last thread of the process may still write.
LogWriter& writer() {
  static auto* const one = new LogWriter();
  return *one;
}

/// Writes the line, or gives it to the writer. The calling thread holds no lock.
void write_or_give(Line line) {
  const bool runs_callback = current_sink().callback != nullptr;
  if (!runs_callback || !is_thread_of_library) return write(line);
  writer().give([line = std::move(line)] { write(line); });
}

/// The lines that the calling thread holds back. The first `written` ones have been written already.
struct KeptLines {
  std::vector<Line> lines;
  std::size_t written = 0;
};
thread_local KeptLines kept;

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

bool finish_log_lines(std::chrono::milliseconds longest) { return writer().finish(longest); }

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
  Line line{level, text_of(subsystem, message)};
  if (held_lines.holds == 0) return write_or_give(std::move(line));
  kept.lines.push_back(std::move(line));
  held_lines.any = true;
}

/// A callback may log, or destroy another LogHold, and so call this function again. That call then writes what is left.
void write_held_lines() {
  while (kept.written < kept.lines.size()) {
    try {
      write_or_give(std::move(kept.lines[kept.written++]));
    } catch (...) {
      // There is no memory for this line, so it is lost.
    }
  }
  kept.lines.clear();
  kept.written = 0;
  held_lines.any = false;
}

void repeat_on_standard_error(Subsystem subsystem, std::string_view message) {
  const std::lock_guard lock(sink_mutex);
  if (sink.callback != nullptr) write_to_stderr(LogLevel::Error, text_of(subsystem, message));
}

}  // namespace detail
}  // namespace lacuna::runtime
