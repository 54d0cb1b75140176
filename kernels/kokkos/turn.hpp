#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/values/thread.hpp"

namespace lacuna::kernels {

/// A thread that runs work for other threads, one after another, while they wait.
class OwnThread {
 public:
  OwnThread() : thread_(start_thread([this] { serve(); })) {}
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
  ~OwnThread();

  /// Runs work(on) on the thread, and returns once it has ended. Thread rule: any other thread.
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

/// Runs work that Kokkos can't do several times at once, one after another: on the calling thread, or on one thread if
/// only the thread that initialised Kokkos may use it. Thread rule: any thread may call run().
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

  /// From now on, all work runs on this thread or, if it is null, on the calling thread. Call it while nothing runs.
  void set_thread(OwnThread* thread) { thread_ = thread; }

 private:
  std::mutex mutex_;
  OwnThread* thread_ = nullptr;
};

/// The turn of this library's Kokkos.
Turn& turn();

}  // namespace lacuna::kernels
