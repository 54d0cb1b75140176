#include "bindings/python/module/request.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

namespace lacuna::python {

/// Marks that this thread is in a request. Throws if another one is.
class Entry {
 public:
  explicit Entry(Request& request) : operation_(*request.operation_) {
    if (operation_.entered) fail(LACUNA_BUSY, "another thread is in a call with this request");
    operation_.entered = true;
  }
  ~Entry() { operation_.entered = false; }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Operation& operation_;
};

Request::Request(std::unique_ptr<Operation> operation)
    : operation_(std::move(operation)), started_(!operation_->prepared) {}

void Request::start() {
  const Entry entry(*this);
  if (started_ && !settled_) {
    if (!operation_->test()) fail(LACUNA_BUSY, "the last start of this request goes on: wait for it");
    settle();
  }
  sweep();
  operation_->start([](lacuna_request** request) { return lacuna_start(*request); }, false);
  started_ = true;
  settled_ = false;
}

bool Request::test() {
  const Entry entry(*this);
  return settled_ || !started_ || operation_->test();
}

Report Request::wait(nb::handle timeout) {
  const Entry entry(*this);
  if (!started_) fail(LACUNA_INVALID_ARGUMENT, "this request is prepared, and was not started yet");
  if (!settled_) operation_->wait(later(timeout));
  settle();
  if (status_ != LACUNA_OK) fail(status_, text_);
  return report_;
}

void Request::settle() {
  if (!std::exchange(settled_, true)) status_ = operation_->settle(report_, text_);
}

void Request::hold_stream(std::uintptr_t stream) {
  const Entry entry(*this);
  if (!settled_ && started_) check(lacuna_hold_stream(operation_->request, reinterpret_cast<void*>(stream)));
}

nb::list Request::gaps(int rank) {
  const Entry entry(*this);
  std::size_t count = 0;
  lacuna_gaps(operation_->request, rank, nullptr, 0, &count);
  std::vector<lacuna_gap> gaps(count);
  check(lacuna_gaps(operation_->request, rank, gaps.data(), gaps.size(), &count));
  nb::list all;
  for (const lacuna_gap& gap : gaps) all.append(nb::make_tuple(gap.offset, gap.count, gap.from));
  return all;
}

/// The requests of a list that a thread waits for together. Some may be null.
struct Waits {
  explicit Waits(const std::vector<Request*>& all) : requests(all) {
    for (Request* request : requests) {
      const bool goes_on = request && request->started_ && !request->settled_;
      if (goes_on) entries.push_back(std::make_unique<Entry>(*request));
      handles.push_back(request ? request->operation_->request : nullptr);
    }
  }

  /// Calls one of lacuna's waits, a slice at a time. `index` is what it tells.
  template <class Wait>
  lacuna_status carry_out(nb::handle timeout, std::size_t& index, Wait wait) {
    const auto until = later(timeout);
    while (true) {
      const double slice = slice_until(until);
      bool ended = false;
      const lacuna_status status = without_lock([&] {
        const lacuna_status told = wait(handles.data(), handles.size(), slice, &index);
        ended = told != LACUNA_TIMED_OUT || has_ended(index);
        return told;
      });
      if (ended) return status;
      const std::string text = lacuna_last_error();
      handle_signals();
      if (std::chrono::steady_clock::now() >= until) fail(LACUNA_TIMED_OUT, text);
    }
  }

  bool has_ended(std::size_t index) const {
    std::int32_t finished = 0;
    return index < handles.size() && handles[index] &&
           (lacuna_test(handles[index], &finished) != LACUNA_OK || finished != 0);
  }

  const std::vector<Request*>& requests;
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<lacuna_request*> handles;
};

namespace {

std::vector<Report> wait_all(const std::vector<Request*>& requests, nb::handle timeout) {
  {
    Waits waits(requests);
    std::size_t index = 0;
    waits.carry_out(timeout, index, lacuna_wait_all);
  }
  std::vector<Report> reports;
  for (Request* request : requests) reports.push_back(request ? request->wait(nb::none()) : Report());
  return reports;
}

std::optional<std::size_t> wait_any(const std::vector<Request*>& requests, nb::handle timeout) {
  Waits waits(requests);
  std::size_t index = 0;
  const lacuna_status status = waits.carry_out(timeout, index, lacuna_wait_any);
  if (index >= requests.size()) check(status);
  return index < requests.size() ? std::optional(index) : std::nullopt;
}

std::optional<std::size_t> test_any(const std::vector<Request*>& requests) {
  Waits waits(requests);
  std::size_t index = 0;
  without_lock([&] { return lacuna_test_any(waits.handles.data(), waits.handles.size(), &index); });
  return index < requests.size() ? std::optional(index) : std::nullopt;
}

}  // namespace

void bind_requests(nb::module_& module) {
  nb::class_<Request>(
      module, "Request", nb::is_weak_referenceable(), nb::dynamic_attr(),
      "A call in flight, prepared, or ended. One thread uses it at a time. It keeps the arrays of the call "
      "alive until the call has ended, also if nobody keeps the request.")
      .def("start", &Request::start, "Start a prepared call. It can be started again once it has ended.")
      .def("test", &Request::test, "Make progress, and return whether the call has ended, well or not.")
      .def_prop_ro("done", &Request::test,
                   "Whether the call has ended, well or not. It makes progress, as test() does.")
      .def(
          "wait", &Request::wait, nb::arg("timeout") = nb::none(),
          "Wait until the call has ended, and return its report, or raise its error.\n\n"
          "Parameters\n----------\ntimeout : float, optional\n    Seconds, after which TimedOut is raised and the call "
          "goes on. Without it the call's deadline ends the wait.",
          nb::sig("def wait(self, timeout: float | None = None) -> Report"))
      .def("hold_stream", &Request::hold_stream, nb::arg("stream"),
           "Make a stream of CUDA wait for the end of the call, in place of this thread. It needs a job that was made "
           "with progress=\"thread\". wait() still tells of an error.\n\n"
           "Parameters\n----------\nstream : int\n    The stream, such as torch.cuda.current_stream().cuda_stream.")
      .def_prop_ro("communicator", &Request::communicator, "The communicator of the call.",
                   nb::sig("def communicator(self) -> Communicator"))
      .def("gaps", &Request::gaps, nb::arg("rank"),
           "List what the output of a rank lacks after the call, as tuples (offset, count, source).",
           nb::sig("def gaps(self, rank: int) -> list[tuple[int, int, int]]"));

  module.def("wait_all", &wait_all, nb::arg("requests"), nb::arg("timeout") = nb::none(),
             "Wait until all requests have ended, and return their reports, or raise the error of the first one that "
             "failed. None stands for a request that has ended.",
             nb::sig("def wait_all(requests: Sequence[Request | None], timeout: float | None = None) -> list[Report]"));
  module.def("wait_any", &wait_any, nb::arg("requests"), nb::arg("timeout") = nb::none(),
             "Wait until one of the requests has ended, and return its place in the list: the lowest one of those that "
             "have ended. Put None there before the next wait. Returns None if there is none to wait for.",
             nb::sig("def wait_any(requests: Sequence[Request | None], timeout: float | None = None) -> int | None"));
  module.def("test_any", &test_any, nb::arg("requests"),
             "Make progress, and return the lowest place of a request that has ended, or None.",
             nb::sig("def test_any(requests: Sequence[Request | None]) -> int | None"));
}

}  // namespace lacuna::python
