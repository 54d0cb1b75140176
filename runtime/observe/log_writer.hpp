#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace lacuna::runtime {

/// Writes lines on a thread that does nothing else, in the order in which they are given. So no other thread of the
/// library runs the program's callback, which may wait for a lock of the program whose holder waits for the library.
/// The thread exists only while there are lines. Thread rule: any thread may call.
class LogWriter {
 public:
  using Line = std::function<void()>;  ///< a function that writes the line

  /// Returns at once. Throws std::bad_alloc.
  void give(Line line);
  /// Waits until all lines are written, or for `longest`. Returns false if some are not written.
  bool finish(std::chrono::milliseconds longest);

 private:
  void write_all();

  std::mutex mutex_;  // protects all members below
  std::condition_variable has_ended_;
  std::deque<Line> lines_;
  bool writes_ = false;  // a thread writes lines at the moment
};

}  // namespace lacuna::runtime
