#include "runtime/job/watch.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <system_error>

#include "runtime/job/control.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/thread.hpp"

namespace lacuna::runtime {

Watch::Watch(std::unique_ptr<Control> control) : control_(std::move(control)) {}

Result<std::unique_ptr<Watch>> Watch::start(Membership& membership, Watched& watched, const WatchTimes& times) {
  Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), poller(::epoll_create1(EPOLL_CLOEXEC));
  if (!wake.is_open() || !poller.is_open())
    return Status(Code::Internal, "the system has no file descriptor for the watch");
  std::unique_ptr<Watch> watch(
      new Watch(std::make_unique<Control>(membership, watched, times, std::move(wake), std::move(poller))));
  if (watch->control_->size() > 1) {
    if (Status started = watch->start_thread(); !started) return started;
  }
  return watch;
}

Status Watch::start_thread() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return Status::ok();
  try {
    control_->start_attendant();
    thread_ = lacuna::start_thread([control = control_.get()] { control->run(); });
  } catch (const std::system_error& error) {
    return {Code::Internal, fmt::format("the system has no thread for the watch: {}", error.what())};
  }
  return {};
}

Watch::~Watch() {
  control_->stop();
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) thread_.join();
  control_.reset();  // its attendant's thread may log too
  finish_log_lines();
}

void Watch::report(Trouble trouble) {
  if (!control_->submit(std::move(trouble))) return;
  if (control_->size() == 1) static_cast<void>(start_thread());
}

void Watch::compare_clocks(std::chrono::milliseconds longest) { control_->compare_clocks(longest); }

std::optional<ClockRelation> Watch::clock() const { return control_->clock(); }

void Watch::leave(std::vector<Reach> reached) { control_->leave(std::move(reached)); }

}  // namespace lacuna::runtime
