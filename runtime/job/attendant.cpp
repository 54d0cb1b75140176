#include "runtime/job/attendant.hpp"

#include <utility>

#include "runtime/values/thread.hpp"

namespace lacuna::runtime {

Attendant::~Attendant() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Attendant::start() {
  if (thread_.joinable()) return;
  thread_ = start_thread([this] { serve(); });
}

void Attendant::poison(std::uint64_t communicator, Status verdict) {
  give([this, communicator, verdict = std::move(verdict)] { watched_.poison(communicator, verdict); });
}

void Attendant::fail(Status verdict, std::function<void()> done) {
  give([this, verdict = std::move(verdict), done = std::move(done)] {
    watched_.fail(verdict);
    done();
  });
}

void Attendant::release(bool all_have_stopped) {
  give([this, all_have_stopped] { watched_.release(all_have_stopped); });
}

void Attendant::count_sent(Rank peer, std::function<void(std::uint64_t)> done) {
  give([this, peer, done = std::move(done)] {
    const std::uint64_t sent = watched_.sent(peer);
    watched_.help();
    done(sent);
  });
}

void Attendant::tell_members(std::uint64_t communicator, std::uint32_t run) {
  give([this, communicator, run] { watched_.tell_members(communicator, run); });
}

void Attendant::help() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(help_is_wanted_, true)) return;
  }
  changed_.notify_all();
}

void Attendant::give(std::function<void()> errand) {
  {
    const std::lock_guard lock(mutex_);
    errands_.push_back(std::move(errand));
  }
  changed_.notify_all();
}

void Attendant::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !errands_.empty() || help_is_wanted_ || ends_; });
    if (!errands_.empty()) {
      const std::function<void()> errand = std::move(errands_.front());
      errands_.pop_front();
      lock.unlock();
      errand();
    } else if (std::exchange(help_is_wanted_, false)) {
      lock.unlock();
      watched_.help();
    } else {
      return;
    }
    lock.lock();
  }
}

}  // namespace lacuna::runtime
