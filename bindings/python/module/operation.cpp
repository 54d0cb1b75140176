#include "bindings/python/module/operation.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "bindings/python/module/values.hpp"

namespace lacuna::python {
namespace {

using Clock = std::chrono::steady_clock;

// Both live as long as the process, because objects of Python may outlive statics.
auto& dropped = *new std::vector<std::unique_ptr<Operation>>;
auto& alive = *new std::unordered_set<const Operation*>;

bool ended(lacuna_request* request) {
  std::int32_t finished = 0;
  return lacuna_test(request, &finished) != LACUNA_OK || finished != 0;  // it fails in a child made by fork() only
}

void read_numbers(nb::handle given, const char* name, int ranks, std::vector<std::size_t>& numbers) {
  nb::object list =
      nb::steal(PySequence_Fast(given.ptr(), (std::string(name) + " must be a sequence of integers").c_str()));
  if (!list.is_valid()) throw nb::python_error();
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(list.ptr());
  if (length != ranks) {
    fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " has " + std::to_string(length) +
                                      " numbers; it must have one for "
                                      "each of the " +
                                      std::to_string(ranks) + " ranks");
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    nb::object index = nb::steal(PyNumber_Index(PySequence_Fast_GET_ITEM(list.ptr(), i)));
    const std::size_t number = index.is_valid() ? PyLong_AsSize_t(index.ptr()) : 0;
    if (PyErr_Occurred()) throw nb::python_error();
    numbers.push_back(number);
  }
}

}  // namespace

void Tables::read(nb::handle counts_given, nb::handle offsets_given, int ranks) {
  read_numbers(counts_given, "counts", ranks, counts);
  c.counts = counts.data();
  if (offsets_given.is_none()) return;
  read_numbers(offsets_given, "offsets", ranks, offsets);
  c.offsets = offsets.data();
}

Operation::Operation() { alive.insert(this); }

Operation::~Operation() {
  alive.erase(this);
  lacuna_request_free(request);
}

bool Operation::wait_for(double seconds) {
  const lacuna_status status = lacuna_wait(request, seconds);
  if (status == LACUNA_TIMED_OUT && !ended(request)) return false;
  outcome_ = status;
  return true;
}

bool Operation::test() {
  return outcome_ || without_lock([this] { return ended(request); });
}

void Operation::wait(Clock::time_point until) {
  while (!outcome_) {
    const double slice = slice_until(until);
    if (without_lock([&] { return wait_for(slice); })) return;
    const std::string text = lacuna_last_error();
    handle_signals();
    if (Clock::now() >= until) fail(LACUNA_TIMED_OUT, text);
  }
}

lacuna_status Operation::settle(Report& report, std::string& text) {
  // This returns at once, except after a failure: then it may wait some seconds until the buffers are free.
  if (outcome_ != LACUNA_OK) outcome_ = without_lock([this] { return lacuna_wait(request, -1); });
  text = outcome_ == LACUNA_OK ? "" : lacuna_last_error();
  if (outcome_ == LACUNA_OK) report = read_report();
  if (!prepared && (outcome_ == LACUNA_OK || is_over())) let_go();
  return *outcome_;
}

Report Operation::read_report() const {
  Report report = report_of(request, method);
  if (output_entries.is_valid()) nb::cast<Entries&>(output_entries).found = found;
  if (!is_receive) return report;
  std::uint64_t bytes = 0;
  std::int32_t source = 0;
  check(lacuna_received_bytes(request, &bytes));
  check(lacuna_received_from(request, &source));
  report.count = bytes / element_size;
  report.source = source;
  return report;
}

bool Operation::is_over() {
  std::int32_t reclaimed = 1;
  return !request || (test() && (lacuna_reclaimed(request, &reclaimed) != LACUNA_OK || reclaimed));
}

void Operation::let_go() {
  for (Side* side : {&input, &output}) {
    side->values.release();
    side->places.release();
  }
  received.release();
  halos.clear();
  for (nb::object* kept : {&state, &sampler, &reduction, &input_entries, &output_entries}) kept->reset();
}

Clock::time_point later(nb::handle seconds) {
  constexpr double most = 1e9;
  if (seconds.is_none()) return Clock::time_point::max();
  const double number = PyFloat_AsDouble(seconds.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  if (!(number >= 0)) {
    fail(LACUNA_INVALID_ARGUMENT, "timeout is " + std::to_string(number) + " seconds, must be 0 or more, or None");
  }
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(number, most)));
}

double slice_until(Clock::time_point until) {
  constexpr double longest = 0.05;
  if (until == Clock::time_point::max()) return longest;
  return std::clamp(std::chrono::duration<double>(until - Clock::now()).count(), 0.0, longest);
}

void handle_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void drop(std::unique_ptr<Operation> operation) {
  if (operation && !operation->is_over()) dropped.push_back(std::move(operation));
}

Report finish(std::unique_ptr<Operation> operation) {
  operation->entered = true;
  try {
    operation->wait(Clock::time_point::max());
  } catch (...) {
    operation->entered = false;
    drop(std::move(operation));
    throw;
  }
  Report report;
  std::string text;
  const lacuna_status status = operation->settle(report, text);
  operation->entered = false;
  drop(std::move(operation));
  if (status != LACUNA_OK) fail(status, text);
  return report;
}

void sweep() {
  if (dropped.empty()) return;
  for (auto& operation : std::exchange(dropped, {})) drop(std::move(operation));
}

std::size_t in_flight() {
  const auto goes_on = [](const Operation* operation) {
    return operation->entered || (operation->request && !ended(operation->request));
  };
  return static_cast<std::size_t>(std::count_if(alive.begin(), alive.end(), goes_on));
}

}  // namespace lacuna::python
