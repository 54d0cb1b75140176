#include "completions.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "errors.hpp"

namespace lacuna_c10d {
namespace {

/// How long the thread leaves the messages to another thread, before it looks for completions again.
constexpr std::chrono::microseconds pause{500};

}  // namespace

Completions::Completions(std::shared_ptr<Job> job)
    : job_(std::move(job)), communicator_(job_->communicator()), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) fail("the system has no descriptor left for the completion thread");
}

Completions::~Completions() { close(wake_); }

void Completions::add(std::uint64_t token, const c10::intrusive_ptr<Work>& work, std::size_t requests) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && threads_.empty()) start_thread();
  }
  const auto complete = count(token, 0, requests, work);
  if (complete && complete->poll()) complete->complete_future();
  if (is_stopping()) fail_all("the process group was shut down");
}

/// mutex_ must be locked.
void Completions::start_thread() {
  threads_.emplace_back([kept = shared_from_this()] { kept->run(); });
}

/// Notes that some requests of a Work have ended, or that there is this Work. A request may end before add() is called.
/// Returns the Work if all of its requests have ended.
c10::intrusive_ptr<Work> Completions::count(std::uint64_t token, std::size_t ended, std::size_t requests,
                                            const c10::intrusive_ptr<Work>& work) {
  c10::intrusive_ptr<Work> complete;
  const std::lock_guard lock(mutex_);
  Watched& watched = watched_[token];
  watched.ended += ended;
  if (work) {
    watched.work = work;
    watched.requests = requests;
  }
  if (watched.work && watched.ended == watched.requests) {
    complete = std::move(watched.work);
    watched_.erase(token);
  }
  if (watched_.empty()) none_left_.notify_all();
  if (work && watched_.size() == 1) wake();  // the thread may be idle
  return complete;
}

/// The next Work of which all requests have ended; null if there is none now.
c10::intrusive_ptr<Work> Completions::next_complete() {
  std::int32_t found = 1;
  std::uint64_t token = 0;
  lacuna_status outcome = LACUNA_OK;
  while (lacuna_next_completion(communicator_, &found, &token, &outcome) == LACUNA_OK && found) {
    if (auto work = count(token, 1, 0, {})) return work;
  }
  return {};
}

void Completions::run() {
  ++followers_;
  std::unique_lock lead(lead_);
  --followers_;
  while (!is_stopping()) {
    if (const auto work = next_complete()) {
      if (work->poll()) run_callbacks(*work, lead);
      continue;
    }
    sleep();
    std::int32_t moved = job_->waiting == 0;
    while (moved && lacuna_progress(communicator_, &moved) == LACUNA_OK) {
    }
  }
}

void Completions::run_callbacks(Work& work, std::unique_lock<std::mutex>& lead) {
  {
    const std::lock_guard lock(mutex_);
    if (followers_ == 0 && !stopping_) start_thread();
  }
  lead.unlock();
  try {
    work.complete_future();
  } catch (const std::exception& error) {
    TORCH_WARN("lacuna: a callback of a future has failed: ", error.what());
  }
  ++followers_;
  lead.lock();
  --followers_;
}

bool Completions::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

/// Sleeps until there may be something to do.
void Completions::sleep() {
  pollfd descriptors[] = {{wake_, POLLIN, 0}, {lacuna_event_fd(communicator_), POLLIN, 0}};
  bool idle = false;
  {
    const std::lock_guard lock(mutex_);
    idle = watched_.empty();
  }
  if (idle) {
    poll(descriptors, 1, -1);
  } else if (job_->waiting > 0) {
    const timespec time{0, std::chrono::nanoseconds(pause).count()};
    ppoll(descriptors, 1, &time, nullptr);
  } else {
    std::int32_t armed = 0;
    lacuna_arm(communicator_, &armed);
    poll(descriptors, 2, armed ? -1 : 0);
  }
  std::uint64_t wakes = 0;
  [[maybe_unused]] const auto read_bytes = read(wake_, &wakes, sizeof(wakes));
}

void Completions::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof(one));
}

void Completions::fail_all(const std::string& text) {
  std::unordered_map<std::uint64_t, Watched> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(watched_);
  }
  for (const auto& [token, watched] : all) {
    if (!watched.work) continue;
    watched.work->fail(text);
    job_->leave_behind({}, std::make_shared<c10::intrusive_ptr<Work>>(watched.work));
  }
}

void Completions::stop(std::chrono::milliseconds patience) {
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    none_left_.wait_for(lock, patience, [this] { return watched_.empty(); });
    stopping_ = true;
    threads.swap(threads_);
  }
  wake();
  fail_all("the process group was shut down while the call was in flight");
  for (std::thread& thread : threads) {
    // A child made by fork() has no such thread, and a callback may be what ends the group.
    if (!job_->is_home() || thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

}  // namespace lacuna_c10d
