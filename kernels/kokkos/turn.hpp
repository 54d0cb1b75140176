#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/values/thread.hpp"

namespace lacuna::kernels {

/// A thread that does what others ask it for, one after another, while they wait.
class OwnThread {
 public:
  OwnThread() : thread_(start_thread([this] { serve(); })) {}
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
  ~OwnThread();

  /// work(on) on the thread; returns once it has ended. Any other thread.
  void run(void (*work)(void* on), void* on);

 private:
  struct Task {
    void (*work)(void* on);
    void* on;
    bool done = false;
  };

  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  Task* next_ = nullptr;
  bool ends_ = false;
  std::thread thread_;
};

/// One at a time of what the Kokkos at hand can't do several times at once: on the calling thread, or all on one thread
/// where Kokkos belongs to the thread that initialised it.
class Turn {
 public:
  template <class Work>
  void run(const Work& work) {
    if (thread_ != nullptr) {
      thread_->run([](void* on) { (*static_cast<const Work*>(on))(); }, const_cast<Work*>(&work));
    } else {
      const std::lock_guard lock(mutex_);
      work();
    }
  }

  /// From now on all on this thread, or where it is null on the calling one. While nothing runs.
  void set_thread(OwnThread* thread) { thread_ = thread; }

 private:
  std::mutex mutex_;
  OwnThread* thread_ = nullptr;
};

/// The turn of this library's Kokkos.
Turn& turn();

}  // namespace lacuna::kernels
