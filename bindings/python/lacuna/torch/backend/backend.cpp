#include "backend.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "errors.hpp"

namespace lacuna_c10d {
namespace {

/// How long a group that ends waits for calls in flight.
constexpr std::chrono::seconds patience{2};

/// Lets callbacks of futures take Python's lock while this thread waits for the completion thread.
class WithoutPython {
 public:
  WithoutPython() {
    if (Py_IsInitialized() && PyGILState_Check()) state_ = PyEval_SaveThread();
  }
  ~WithoutPython() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

/// All groups of this process.
struct Groups {
  std::mutex mutex;
  std::set<Backend*> all;
};
Groups& groups() {
  static auto* const kept = new Groups;  // outlives all that ends with the process
  return *kept;
}

}  // namespace

Backend::Backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, c10::intrusive_ptr<Options> options)
    : c10d::Backend(rank, size),
      options_(std::move(options)),
      states_(options_->method, options_->minimum),
      job_(std::make_shared<Job>(*store, rank, size, options_->timeout)),
      completions_(std::make_shared<Completions>(job_)) {
  init();
  const std::lock_guard lock(groups().mutex);
  groups().all.insert(this);
}

Backend::~Backend() {
  {
    const std::lock_guard lock(groups().mutex);
    groups().all.erase(this);
  }
  leave(std::chrono::milliseconds::zero());
}

void Backend::leave(std::chrono::milliseconds patience) {
  const WithoutPython without;
  completions_->stop(patience);
  job_->close();
}

void Backend::shutdown() { leave(job_->aborted() ? std::chrono::milliseconds::zero() : patience); }

void Backend::leave_all() {
  const WithoutPython without;
  const std::lock_guard lock(groups().mutex);
  for (Backend* const group : groups().all) group->leave(std::chrono::milliseconds::zero());
}

void Backend::abort() {
  job_->abort();
  completions_->fail_all("the process group was aborted");
}

c10d::ErrorType Backend::getError() {
  switch (lacuna_communicator_status(job_->communicator())) {
    case LACUNA_OK:
      return c10d::ErrorType::SUCCESS;
    case LACUNA_TIMED_OUT:
      return c10d::ErrorType::TIMEOUT;
    case LACUNA_PEER_FAILED:
    case LACUNA_MISMATCH:
      return c10d::ErrorType::REMOTE_ERROR;
    default:
      return c10d::ErrorType::COMM_ERROR;
  }
}

c10::intrusive_ptr<c10d::Backend> Backend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const std::vector<int>& ranks,
                                                 const c10::intrusive_ptr<c10d::Backend::Options>& options) {
  const auto mine = std::find(ranks.begin(), ranks.end(), getRank());
  if (mine == ranks.end()) return nullptr;
  return merge(store, options, static_cast<int>(mine - ranks.begin()), static_cast<int>(ranks.size()));
}

c10::intrusive_ptr<c10d::Backend> Backend::merge(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const c10::intrusive_ptr<c10d::Backend::Options>& options,
                                                 const int& rank, const int& size) {
  auto mine = c10::dynamic_intrusive_pointer_cast<Options>(options);
  if (!mine) mine = c10::make_intrusive<Options>(options->timeout, options_->method, options_->minimum);
  return c10::make_intrusive<Backend>(store, rank, size, std::move(mine));
}

WorkPointer Backend::start(Task task, const std::vector<Starter>& calls) {
  (void)job_->communicator();  // throws if there is none any more
  const bool waits = task.waits;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.deadline = std::chrono::duration<double>(task.timeout).count();
  options.notify = !waits;
  options.token = next_token_++;
  auto work = c10::make_intrusive<Work>(job_, getRank(), sequence_, std::move(task));
  const std::size_t started = work->start(calls, options);
  if (waits) {
    work->wait(kNoTimeout);
  } else {
    completions_->add(options.token, work, started);
  }
  return work;
}

WorkPointer Backend::start(Task task, const lacuna_call& call, const lacuna_method* method, lacuna_state* state) {
  const Starter starter = [&, this](lacuna_options options, lacuna_request** request) {
    options.method = method;
    options.state = state;
    return lacuna_execute(job_->communicator(), &call, &options, request);
  };
  return start(std::move(task), {starter});
}

at::Tensor& only(Tensors& tensors) {
  TORCH_CHECK(tensors.size() == 1, "lacuna: the call has ", tensors.size(), " tensors, must have 1");
  return tensors.front();
}

std::vector<std::size_t> lengths_of(const Tensors& tensors, const Elements& elements) {
  std::vector<std::size_t> lengths;
  lengths.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    lengths.push_back(static_cast<std::size_t>(tensor.numel()) * elements.each);
  }
  return lengths;
}

}  // namespace lacuna_c10d
