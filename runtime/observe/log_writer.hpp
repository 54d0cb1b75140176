#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace lacuna::runtime {

/// Writes lines on a thread that does nothing else, in the order in which they are given. So the threads of the
/// library never run the program's callback, which may wait for what the program holds while it waits for them. There
/// is a thread only while there are lines.
/// Thread rule: any thread may call.
class LogWriter {
 public:
  using Line = std::function<void()>;  ///< writes it

  /// Returns at once. Throws std::bad_alloc.
  void give(Line line);
  /// Waits until all lines are written, for so long at most. False if some are not.
  bool finish(std::chrono::milliseconds longest);

 private:
  void write_all();

  std::mutex mutex_;  // of all below
  std::condition_variable has_ended_;
  std::deque<Line> lines_;
  bool writes_ = false;  // there is a thread
};

}  // namespace lacuna::runtime
