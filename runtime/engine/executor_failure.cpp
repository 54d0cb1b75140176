#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/engine/posted.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {

std::vector<Reach> Executor::reached() const {
  Lock lock(*this);
  return communicators_.reached();
}

std::optional<Posted> Executor::posted(std::uint64_t communicator, std::uint32_t run) {
  return communicators_.posted(communicator, run);
}

void Executor::poison(std::uint64_t communicator, const Status& verdict) {
  {
    Lock lock(*this);
    if (Client* client = communicators_.find(communicator)) {
      end_calls(*client, verdict);
      ending_ = Ending::Leave;  // its calls may have ended here and not on the others
    }
    after_handlers();
  }
  alarms_.call_attention();
}

void Executor::fail(const Status& verdict) {
  {
    Lock lock(*this);
    if (state_ == State::Failed || state_ == State::Closed) return;
    state_ = State::Failed;
    verdict_ = verdict;
    for (Client* communicator : communicators_) end_calls(*communicator, verdict);
    scheduler_.incoming().abandon();
    alarms_.forget(transport_->event_fd());
    access_ = transport_->abandon();
    keeps_memory_ = access_ == Access::Devices;
    if (access_ == Access::Nobody) scheduler_.end_operations();
  }
  alarms_.wake_next_sleeper();
  alarms_.call_attention();
  flush_reports();
}

void Executor::release(bool all_have_stopped) {
  {
    Lock lock(*this);
    if (state_ != State::Failed) return;
    if (access_ == Access::Peers && all_have_stopped) scheduler_.end_operations();
    keeps_memory_ = scheduler_.operations().in_use() > 0;
    if (options_.progress_thread) ended_.notify_all();
  }
  alarms_.call_attention();
  alarms_.wake_next_sleeper();
  flush_reports();
}

void Executor::help() {
  bool moved = false;
  {
    Lock lock(*this);
    moved = progress_locked();
  }
  flush_reports();
  if (moved) alarms_.call_attention();
}

const Status& Executor::join(Client& communicator) {
  communicators_.add(communicator);
  return verdict_;
}

void Executor::leave(Client& communicator) {
  Reach last = communicator.reach();
  end_calls(communicator, {Code::InvalidArgument, "the communicator was destroyed before the call had ended"});
  scheduler_.forget(communicator);
  failures_.forget(communicator);
  statements_.forget(communicator);
  after_handlers();
  communicators_.retire(communicator, std::move(last), tick_scale_.line());
}

void Executor::fail(Client& communicator, const Status& verdict) {
  {
    Lock lock(*this);
    end_calls(communicator, verdict);
    after_handlers();
  }
  flush_deferred();
}

namespace {

bool tells_of_no_answer(const Status& verdict) {
  return verdict.code() == Code::PeerFailed || verdict.code() == Code::TimedOut || verdict.code() == Code::Transport;
}

}  // namespace

/// Poisons the communicator and ends its calls.
void Executor::end_calls(Client& communicator, const Status& status) {
  if (communicator.has_failed()) return;
  record_.tick();
  communicator.poison(status);
  const RunTable& runs = communicator.runs();
  if (!runs.empty()) ending_ = Ending::Leave;
  was_left_waiting_ = was_left_waiting_ || tells_of_no_answer(status);
  if (runs.calls() > 0) {
    log_info(Subsystem::Executor, "{} failed: {}", count_of(runs.calls(), "call"), status.message());
  }
  scheduler_.end_all(communicator, status);
  wake();
}

void Executor::after_handlers() {
  if (failures_.has_thrown()) fail_after_throw();
  while (const auto failure = failures_.next()) end_calls(*failure->communicator, failure->status);
  if (state_ == State::Running) {
    for (const Descriptor& descriptor : discards_) transport_->discard(descriptor);
    statements_.send_answers();
  }
  discards_.clear();
}

void Executor::fail_after_throw() {
  const Failures::Failure thrown = failures_.take_thrown();
  for (Client* one : communicators_) {
    if (thrown.communicator && one != thrown.communicator) continue;
    if (failures_.reporter() && one->runs().calls() > 0) {  // so that other ranks need not wait
      failures_.report(*one, Trouble::Kind::Mismatch, one->runs().next() - 1, thrown.status.to_string());
    }
    end_calls(*one, thrown.status);
  }
  links_.request_pump_of_all();  // the exception has cut a pump short
}

void Executor::flush_deferred() {
  if (deferred_.is_empty()) return;
  Deferred::All all;
  {
    Lock lock(*this);
    all = deferred_.take();
  }
  tell(all.reports);
}

/// Does not let go of the callers' memory, which may run code of the program.
void Executor::flush_reports() {
  std::vector<Trouble> reports;
  {
    Lock lock(*this);
    reports = deferred_.take_reports();
  }
  tell(reports);
}

void Executor::tell(const std::vector<Trouble>& reports) const {
  for (const Trouble& report : reports) failures_.reporter()(report);
}

}  // namespace lacuna::runtime
