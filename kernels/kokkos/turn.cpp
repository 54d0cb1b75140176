#include "kernels/kokkos/turn.hpp"

namespace lacuna::kernels {

OwnThread::~OwnThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OwnThread::run(void (*work)(void* on), void* on) {
  Task task{work, on};
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return next_ == nullptr; });
  next_ = &task;
  changed_.notify_all();
  changed_.wait(lock, [&task] { return task.done; });
}

void OwnThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return next_ != nullptr || ends_; });
    if (next_ == nullptr) return;
    lock.unlock();
    next_->work(next_->on);
    lock.lock();
    next_->done = true;
    next_ = nullptr;
    changed_.notify_all();
  }
}

Turn& turn() {
  static constinit Turn only;
  return only;
}

}  // namespace lacuna::kernels
