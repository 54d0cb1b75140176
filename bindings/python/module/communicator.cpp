#include "bindings/python/module/communicator.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "bindings/python/module/exit.hpp"
#include "bindings/python/module/values.hpp"

namespace lacuna::python {
namespace {

// Those of this process. It lives as long as the process, because objects of Python may outlive statics.
auto& alive = *new std::unordered_set<Communicator*>;

constexpr const char* progress_names[] = {"caller", "thread"};
constexpr const char* format_names[] = {"json", "prometheus"};

/// Frees a handle without the interpreter's lock, because the rank may leave its job then. The last owner may be a
/// thread of make_aside(), of which Python knows nothing.
void free_handle(lacuna_communicator* handle) {
  if (!PyGILState_GetThisThreadState()) return lacuna_communicator_free(handle);
  without_lock([handle] {
    lacuna_communicator_free(handle);
    return 0;
  });
}

nb::object given(std::shared_ptr<lacuna_communicator> handle) {
  return nb::cast(new Communicator(std::move(handle)), nb::rv_policy::take_ownership);
}

nb::object given(lacuna_communicator* part) {
  return part ? given(std::shared_ptr<lacuna_communicator>(part, free_handle)) : nb::none();
}

/// Lets Python handle signals. Their handlers raise KeyboardInterrupt and the like, which stays as the thread's error.
std::int32_t has_signal(void*) {
  const nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals();
}

nb::object join(std::optional<int> rank, std::optional<int> size, std::optional<std::string> store,
                std::optional<std::string> key, const UniqueId* id, nb::handle progress,
                std::optional<double> timeout) {
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  options.rank = rank.value_or(-1);
  options.world_size = size.value_or(-1);
  options.store = store ? store->c_str() : nullptr;
  options.key = key ? key->c_str() : nullptr;
  options.id = id ? &id->c : nullptr;
  if (!progress.is_none()) options.progress = number_of(progress, "progress", progress_names, 2);
  if (timeout && !(*timeout > 0)) {  // 0 leaves it to the environment in C
    fail(LACUNA_INVALID_ARGUMENT, "timeout is " + std::to_string(*timeout) + " seconds, must be above 0, or None");
  }
  options.timeout = timeout.value_or(0);
  options.interrupted = has_signal;
  set_home();
  lacuna_communicator* joined = nullptr;
  const lacuna_status status = without_lock([&] { return lacuna_join(&options, &joined); });
  if (PyErr_Occurred()) {  // perhaps just when the last rank came
    nb::python_error raised;
    if (joined) free_handle(joined);
    throw raised;
  }
  check(status);
  return given(joined);
}

/// A communicator that a thread makes.
struct Making {
  std::mutex mutex;
  std::condition_variable change;
  bool has_ended = false, is_wanted = true;
  lacuna_status status = LACUNA_OK;
  std::string error;
  lacuna_communicator* part = nullptr;
};

/// Makes a communicator on a thread of its own, while this thread looks for signals. If a handler raises, the thread
/// goes on, because the other ranks need this one, and frees what it makes.
template <class Make>
nb::object make_aside(Make make) {
  auto making = std::make_shared<Making>();
  std::thread([making, make = std::move(make)] {
    const lacuna_status status = make(&making->part);
    const std::lock_guard lock(making->mutex);
    making->status = status;
    if (status != LACUNA_OK) making->error = lacuna_last_error();
    making->has_ended = true;
    making->change.notify_one();
    if (!making->is_wanted) lacuna_communicator_free(making->part);
  }).detach();
  const auto has_ended = [&] {
    std::unique_lock lock(making->mutex);
    return making->change.wait_for(lock, std::chrono::milliseconds(50), [&] { return making->has_ended; });
  };
  while (!without_lock(has_ended)) {
    if (PyErr_CheckSignals() == 0) continue;
    const std::lock_guard lock(making->mutex);
    making->is_wanted = false;
    if (making->has_ended) lacuna_communicator_free(making->part);
    throw nb::python_error();
  }
  if (making->status != LACUNA_OK) fail(making->status, making->error);
  return given(making->part);
}

nb::object split(const Communicator& self, int color, int key) {
  return make_aside([handle = self.use(), color, key](lacuna_communicator** part) {
    return lacuna_split(handle.get(), color, key, part);
  });
}

nb::object subgroup(const Communicator& self, const std::vector<int>& ranks) {
  return make_aside([handle = self.use(), ranks](lacuna_communicator** part) {
    return lacuna_subgroup(handle.get(), ranks.data(), ranks.size(), part);
  });
}

nb::dict counters(const Communicator& self) {
  lacuna_counters counted = LACUNA_COUNTERS_INIT;
  check(lacuna_get_counters(self.use().get(), &counted));
  nb::dict numbers;
  numbers["payload_sent"] = counted.payload_sent;
  numbers["header_sent"] = counted.header_sent;
  numbers["messages_sent"] = counted.messages_sent;
  numbers["payload_received"] = counted.payload_received;
  numbers["messages_received"] = counted.messages_received;
  return numbers;
}

std::string counters_text(const Communicator& self, nb::handle format) {
  const int form = number_of(format, "format", format_names, 2);
  const auto handle = self.use();
  std::string text;
  std::size_t length = 0;
  while (lacuna_counters_text(handle.get(), form, text.data(), text.size(), &length) != LACUNA_OK) {
    if (length < text.size()) check(lacuna_counters_text(handle.get(), form, text.data(), text.size(), &length));
    text.resize(length + 64);  // the numbers may have grown
  }
  text.resize(length);
  return text;
}

bool progress(const Communicator& self) {
  std::int32_t moved = 0;
  check(without_lock([&, handle = self.use()] { return lacuna_progress(handle.get(), &moved); }));
  return moved != 0;
}

bool arm(const Communicator& self) {
  std::int32_t armed = 0;
  check(lacuna_arm(self.use().get(), &armed));
  return armed != 0;
}

std::string text_of(const Communicator& self) {
  if (self.is_freed()) return "<lacuna.Communicator, freed>";
  const auto handle = self.use();
  return "<lacuna.Communicator rank=" + std::to_string(lacuna_rank(handle.get())) +
         " size=" + std::to_string(lacuna_size(handle.get())) + ">";
}

/// Binds a number that a function of lacuna tells.
template <class Function>
void bind_number(nb::class_<Communicator>& type, const char* name, Function function, const char* words) {
  type.def_prop_ro(
      name, [function](const Communicator& self) { return function(self.use().get()); }, words);
}

}  // namespace

Communicator::Communicator(std::shared_ptr<lacuna_communicator> handle) : handle_(std::move(handle)) {
  alive.insert(this);
}

Communicator::~Communicator() { alive.erase(this); }

std::shared_ptr<lacuna_communicator> Communicator::use() const {
  if (!handle_) fail(LACUNA_INVALID_ARGUMENT, "this communicator has been freed");
  return handle_;
}

void free_all() {
  const std::vector<Communicator*> all(alive.begin(), alive.end());
  for (Communicator* communicator : all) communicator->free();
}

void bind_communicators(nb::module_& module) {
  module.def("join", &join, nb::arg("rank").none(), nb::arg("size").none(), nb::arg("store").none(),
             nb::arg("key").none(), nb::arg("id").none(), nb::arg("progress").none(), nb::arg("timeout").none(),
             nb::sig("def join(rank: int | None, size: int | None, store: str | None, key: str | None, "
                     "id: UniqueId | None, progress: str | None, timeout: float | None) -> Communicator"));
  module.def(
      "share", [](const Communicator& self) { return given(self.use()); }, nb::arg("communicator"),
      "Return the same communicator once more. It is left when both are freed.",
      nb::sig("def share(communicator: Communicator) -> Communicator"));

  nb::class_<Communicator> type(module, "Communicator", nb::is_weak_referenceable(), nb::dynamic_attr(),
                                "The ranks that call together: those of the job, or some of them. As a context manager "
                                "it frees itself at the end of the block.");
  bind_number(type, "rank", lacuna_rank, "This process's number, 0 .. size - 1.");
  bind_number(type, "size", lacuna_size, "The number of ranks.");
  bind_number(type, "local_rank", lacuna_local_rank, "This process's number among the ranks on its host.");
  bind_number(type, "local_size", lacuna_local_size, "The number of ranks on this process's host.");
  bind_number(type, "event_fd", lacuna_event_fd,
              "The descriptor on which a loop of the program sleeps after arm(); see lacuna_event_fd().");
  type.def_prop_ro(
          "status",
          [](const Communicator& self) { return lacuna_status_text(lacuna_communicator_status(self.use().get())); },
          "'ok', or in a few words the failure that has ended the communicator.")
      .def(
          "check", [](const Communicator& self) { check(lacuna_communicator_status(self.use().get())); },
          "Raise the failure that has ended the communicator, if one has.")
      .def_prop_ro("counters", &counters, "What this rank has sent to the communicator's ranks and received from them.",
                   nb::sig("def counters(self) -> dict[str, int]"))
      .def("counters_text", &counters_text, nb::arg("format") = "json",
           "Return all counters of this rank, for its whole job, as text: 'json' or 'prometheus'.",
           nb::sig("def counters_text(self, format: str = 'json') -> str"))
      .def("split", &split, nb::arg("color"), nb::arg("key") = 0,
           "Divide the ranks into communicators: those with equal colours are in the same one, ordered by their keys. "
           "Returns None for a negative colour. All ranks call it.",
           nb::sig("def split(self, color: int, key: int = 0) -> Communicator | None"))
      .def(
          "subgroup", &subgroup, nb::arg("ranks"),
          "Make a communicator of some ranks, in the order of the list. Returns None on ranks that are not listed. All "
          "ranks call it with the same list.",
          nb::sig("def subgroup(self, ranks: Sequence[int]) -> Communicator | None"))
      .def("progress", &progress, "Make one round of progress, and return whether anything has moved.")
      .def("arm", &arm, "Return whether the program may sleep on event_fd. To be called before each sleep.")
      .def("free", &Communicator::free,
           "Leave the communicator. When all communicators and requests of a job are freed, the rank leaves the job.")
      .def(
          "__enter__", [](nb::handle self) { return self; }, nb::rv_policy::none,
          nb::sig("def __enter__(self) -> Communicator"))
      .def(
          "__exit__", [](Communicator& self, nb::args) { self.free(); },
          nb::sig("def __exit__(self, *error: object) -> None"))
      .def("__repr__", &text_of);
  bind_calls(type);
  bind_messages(type);
  bind_exchanges(module, type);
}

}  // namespace lacuna::python
