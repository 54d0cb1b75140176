#include "job.hpp"

#include <pybind11/pybind11.h>

#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "errors.hpp"

namespace lacuna_c10d {
namespace {

const std::string id_key = "lacuna/id";

/// Makes the id and gives it to the other ranks. If it can't be made, they get zeros, which lacuna refuses.
lacuna_unique_id publish(c10d::Store& store) {
  lacuna_unique_id id{};
  const lacuna_status made = lacuna_make_unique_id(nullptr, &id);
  const std::string text = made == LACUNA_OK ? "" : lacuna_last_error();
  store.set(id_key, std::vector<std::uint8_t>(std::begin(id.bytes), std::end(id.bytes)));
  if (made != LACUNA_OK) fail(text);
  return id;
}

lacuna_unique_id read(c10d::Store& store) {
  const std::vector<std::uint8_t> bytes = store.get(id_key);
  lacuna_unique_id id{};
  if (bytes.size() != sizeof(id.bytes)) {
    fail("the store has " + std::to_string(bytes.size()) + " bytes as the id of the job, must be " +
         std::to_string(sizeof(id.bytes)) + "; do all ranks use the same lacuna?");
  }
  std::memcpy(id.bytes, bytes.data(), sizeof(id.bytes));
  return id;
}

/// Lets Python handle signals. Their handlers raise KeyboardInterrupt and the like, which stays as the thread's error.
std::int32_t has_signal(void*) {
  const pybind11::gil_scoped_acquire gil;
  return PyErr_CheckSignals();
}

/// Raises what a handler of a signal has raised. The job is left then, in case the last rank came just before.
void raise_what_a_handler_raised(lacuna_communicator* joined) {
  const pybind11::gil_scoped_acquire gil;
  if (!PyErr_Occurred()) return;
  pybind11::error_already_set raised;
  lacuna_communicator_free(joined);
  throw raised;
}

}  // namespace

Job::Job(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout) : process_(getpid()) {
  const lacuna_unique_id id = rank == 0 ? publish(store) : read(store);
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  options.rank = rank;
  options.world_size = size;
  options.id = &id;
  options.timeout = std::chrono::duration<double>(timeout).count();
  options.interrupted = has_signal;
  lacuna_communicator* joined = nullptr;
  const lacuna_status status = lacuna_join(&options, &joined);
  raise_what_a_handler_raised(joined);
  check(status);
  communicator_ = joined;
  if (rank == 0) store.deleteKey(id_key);  // all have read it; a later group may use the same store
}

Job::~Job() { close(); }

lacuna_communicator* Job::communicator() const {
  lacuna_communicator* const mine = communicator_;
  if (aborted_) fail("the process group was aborted");
  if (!mine) fail("the process group was shut down");
  return mine;
}

void Job::close() {
  lacuna_communicator* const mine = communicator_.exchange(nullptr);
  if (!has_leftovers_) lacuna_communicator_free(mine);
}

void Job::leave_behind(std::vector<lacuna_request*> requests, std::shared_ptr<void> used) {
  static std::mutex mutex;
  static auto* const left = new std::vector<std::pair<std::vector<lacuna_request*>, std::shared_ptr<void>>>;
  const std::lock_guard lock(mutex);
  left->emplace_back(std::move(requests), std::move(used));
  has_leftovers_ = true;
}

}  // namespace lacuna_c10d
