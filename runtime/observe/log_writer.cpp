#include "runtime/observe/log_writer.hpp"

#include <system_error>
#include <utility>

#include "runtime/values/thread.hpp"

namespace lacuna::runtime {

void LogWriter::give(Line line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
  if (writes_) return;
  try {
    start_thread([this] { write_all(); }).detach();
    writes_ = true;
  } catch (const std::system_error&) {
    // The system has no thread to give. The next line tries again, and finish() writes what is left.
  }
}

void LogWriter::write_all() {
  std::unique_lock lock(mutex_);
  while (!lines_.empty()) {
    const Line line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    line();
    lock.lock();
  }
  writes_ = false;
  has_ended_.notify_all();
}

bool LogWriter::finish(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  if (!has_ended_.wait_for(lock, longest, [this] { return !writes_; })) return false;
  if (lines_.empty()) return true;
  writes_ = true;
  lock.unlock();
  write_all();
  return true;
}

}  // namespace lacuna::runtime
