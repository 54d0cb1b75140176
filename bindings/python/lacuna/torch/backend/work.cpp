#include "work.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <utility>

#include "errors.hpp"

namespace lacuna_c10d {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a thread waits before it looks for signals and for an abort.
constexpr double slice = 0.1;

/// Lets Python raise KeyboardInterrupt in its main thread.
void check_signals() {
  if (!Py_IsInitialized()) return;
  const pybind11::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

std::string seconds_of(std::chrono::milliseconds time) {
  return c10::str(static_cast<double>(time.count()) / 1000, " s");
}

/// The text of the last error. The deadline of a call is the timeout of its group, or one of its own.
std::string text_of(lacuna_status outcome, std::chrono::milliseconds timeout) {
  if (outcome != LACUNA_TIMED_OUT) return lacuna_last_error();
  return c10::str("the timeout of ", seconds_of(timeout), " has passed: ", lacuna_last_error());
}

}  // namespace

Work::Work(std::shared_ptr<Job> job, int rank, std::uint64_t sequence, Task task)
    : c10d::Work(rank, task.kind, task.title.c_str(), task.inputs),
      job_(std::move(job)),
      task_(std::make_shared<Task>(std::move(task))),
      sequence_(sequence) {}

Work::~Work() {
  if (!requests_.empty()) job_->leave_behind(std::move(requests_), task_);
}

std::size_t Work::start(const std::vector<Starter>& calls, const lacuna_options& options) {
  const std::lock_guard turn(turn_);
  const auto until = Clock::now() + task_->timeout;
  for (const Starter& call : calls) {
    lacuna_request* request = nullptr;
    lacuna_status status = call(options, &request);
    while (status == LACUNA_BUSY && Clock::now() < until) {  // too many calls are in flight
      lacuna_progress(job_->communicator(), nullptr);
      std::this_thread::yield();
      status = call(options, &request);
    }
    if (status != LACUNA_OK) {
      failure_ = failure_of(lacuna_last_error());
      break;
    }
    requests_.push_back(request);
  }
  if (requests_.empty() && failure_) std::rethrow_exception(failure_);
  return requests_.size();
}

/// Moves messages for some time, or until all requests have ended. Returns whether they have. turn_ must be locked.
bool Work::move(double seconds) {
  for (; ended_ < requests_.size(); ++ended_) {
    lacuna_request* const request = requests_[ended_];
    std::int32_t finished = 0;
    if (seconds > 0) lacuna_wait(request, seconds);
    lacuna_test(request, &finished);
    if (!finished) return false;
    const lacuna_status outcome = lacuna_wait(request, 0);
    if (outcome != LACUNA_OK && !failure_) failure_ = failure_of(text_of(outcome, task_->timeout));
  }
  return true;
}

bool Work::poll() {
  std::unique_lock turn(turn_);
  return !concluded_ && move(0) && conclude(std::move(turn));
}

/// Copies results, lets go of the requests and of what they use, and tells the outcome.
bool Work::conclude(std::unique_lock<std::mutex> turn) {
  concluded_ = true;
  std::int32_t all_reclaimed = 1;
  for (lacuna_request* const request : requests_) {
    std::int32_t reclaimed = 1;
    if (failure_) lacuna_reclaimed(request, &reclaimed);
    all_reclaimed &= reclaimed;
  }
  if (!failure_ && !told_) run_endings();
  if (!all_reclaimed) job_->leave_behind({}, std::make_shared<Task>(*task_));
  for (lacuna_request* const request : requests_) lacuna_request_free(request);
  requests_.clear();
  task_->memory.clear();
  task_->objects.clear();
  task_->endings.clear();
  turn.unlock();
  return tell(failure_);
}

void Work::run_endings() {
  try {
    if (task_->kind == c10d::OpType::RECVANYSOURCE) check(lacuna_received_from(requests_.front(), &source_));
    std::uint64_t bytes = 0;
    if (task_->expected) check(lacuna_received_bytes(requests_.front(), &bytes));
    if (task_->expected && bytes != *task_->expected) {
      lacuna_c10d::fail(c10::str("the message has ", bytes, " bytes, and the tensor ", *task_->expected));
    }
    for (const auto& ending : task_->endings) ending();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

/// Gives the outcome to all who wait, once. Returns whether there is a future that must have it too.
bool Work::tell(const std::exception_ptr& failure) {
  if (told_.exchange(true)) return false;
  finish(failure);
  const std::lock_guard lock(future_mutex_);
  has_outcome_ = true;
  return future_ != nullptr;
}

void Work::complete_future() {
  if (const std::exception_ptr failure = exception()) {
    future_->setError(failure);
  } else {
    future_->markCompleted(c10::IValue(task_->outputs));
  }
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
  const std::lock_guard lock(future_mutex_);
  if (!future_) {
    future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    if (has_outcome_) complete_future();  // it has no callbacks yet
  }
  return future_;
}

void Work::fail(const std::string& text) {
  if (tell(failure_of(text))) complete_future();
}

/// Whether waiters have the outcome.
bool Work::is_told() {
  const std::lock_guard lock(mutex_);
  return completed_;
}

bool Work::isCompleted() {
  if (is_told()) return true;
  std::unique_lock turn(turn_, std::try_to_lock);
  if (turn && !concluded_ && move(0) && conclude(std::move(turn))) complete_future();
  return is_told();
}

bool Work::wait(std::chrono::milliseconds timeout) {
  const bool forever = timeout == kNoTimeout || timeout == c10d::kUnsetTimeout;
  const auto until = Clock::now() + (forever ? std::chrono::milliseconds::zero() : timeout);
  while (!is_told()) {
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    if (!forever && left <= 0) {
      lacuna_c10d::fail(c10::str("the call has not ended within the timeout of ", seconds_of(timeout)));
    }
    wait_for(forever ? slice : std::min(slice, left));
    if (is_told()) break;
    if (job_->aborted()) fail("the process group was aborted");
    check_signals();
  }
  if (const std::exception_ptr failure = exception()) std::rethrow_exception(failure);
  return true;
}

/// Waits for some time. Moves messages meanwhile, unless another thread uses the requests.
void Work::wait_for(double seconds) {
  std::unique_lock turn(turn_, std::try_to_lock);
  if (turn && !concluded_) {
    ++job_->waiting;
    const bool ended = move(seconds);
    --job_->waiting;
    if (ended && conclude(std::move(turn))) complete_future();
    return;
  }
  if (turn) turn.unlock();
  std::unique_lock lock(mutex_);
  cv_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return completed_; });
}

int Work::sourceRank() const {
  TORCH_CHECK(source_ >= 0, "lacuna: only a completed receive from any rank knows its source");
  return source_;
}

std::vector<at::Tensor> Work::result() {
  TORCH_CHECK(isCompleted(), "lacuna: result() was called before the Work had completed; call wait() first");
  return task_->outputs;
}

}  // namespace lacuna_c10d
