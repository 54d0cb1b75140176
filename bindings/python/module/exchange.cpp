// Exchanges with the neighbours of a rank, and the grids that tell them.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/module/communicator.hpp"

namespace lacuna::python {
namespace {

/// Reads a tuple of rank, send_direction and receive_direction. The rank is None where nobody is.
lacuna_neighbour neighbour_of(nb::handle given) {
  nb::object fast = nb::steal(PySequence_Fast(given.ptr(), "a neighbour must be a lacuna.Neighbour or such a tuple"));
  if (!fast.is_valid()) throw nb::python_error();
  if (PySequence_Fast_GET_SIZE(fast.ptr()) != 3) {
    fail(LACUNA_INVALID_ARGUMENT, "a neighbour has " + std::to_string(PySequence_Fast_GET_SIZE(fast.ptr())) +
                                      " numbers; it must have rank, send_direction and receive_direction");
  }
  PyObject** const items = PySequence_Fast_ITEMS(fast.ptr());
  const auto number = [](PyObject* item) {
    const long value = PyLong_AsLong(item);
    if (PyErr_Occurred()) throw nb::python_error();
    return static_cast<std::int32_t>(value);
  };
  return {items[0] == Py_None ? LACUNA_NOBODY : number(items[0]), number(items[1]), number(items[2])};
}

/// Takes what is exchanged with one neighbour. None stands for no elements. All buffers lie in the memory of the first
/// one.
lacuna_halo halo_of(Operation& operation, nb::handle send, nb::handle receive, std::size_t place) {
  lacuna_halo halo{};
  const auto take = [&](nb::handle given, const std::string& name) -> const Buffer& {
    Buffer& taken = operation.halos.emplace_back();
    taken.take(given, name.c_str());
    taken.check_alike(name.c_str(), operation.halos.front());
    return taken;
  };
  const std::string where = "[" + std::to_string(place) + "]";
  if (!send.is_none()) {
    const Buffer& taken = take(send, "sends" + where);
    halo.send = taken.c().data;
    halo.send_count = taken.c().count;
    halo.dtype = taken.c().dtype;
  }
  if (receive.is_none()) return halo;
  const std::string name = "receives" + where;
  const Buffer& taken = take(receive, name);
  taken.check_writable(name.c_str());
  if (!send.is_none() && taken.c().dtype != halo.dtype) {
    fail(LACUNA_INVALID_ARGUMENT, "sends" + where + " and " + name + " have elements of different types");
  }
  halo.receive = taken.c().data;
  halo.receive_count = taken.c().count;
  halo.dtype = taken.c().dtype;
  return halo;
}

void check_length(const char* name, std::size_t length, std::size_t neighbours) {
  if (length == neighbours) return;
  fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " has " + std::to_string(length) +
                                    " buffers; it must have one, or None, for each of the " +
                                    std::to_string(neighbours) + " neighbours");
}

nb::object exchange(Form form, const Communicator& self, const std::vector<nb::object>& neighbours,
                    const std::vector<nb::object>& sends, const std::vector<nb::object>& receives, int tag,
                    nb::handle priority, nb::handle deadline) {
  check_length("sends", sends.size(), neighbours.size());
  check_length("receives", receives.size(), neighbours.size());
  auto operation = std::make_unique<Operation>();
  std::vector<lacuna_neighbour> all_neighbours;
  std::vector<lacuna_halo> halos;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    all_neighbours.push_back(neighbour_of(neighbours[i]));
    halos.push_back(halo_of(*operation, sends[i], receives[i], i));
  }
  lacuna_memory memory = LACUNA_MEMORY_INIT;
  if (!operation->halos.empty()) {
    const lacuna_buffer& first = operation->halos.front().c();
    memory.kind = first.memory;
    memory.device = first.device;
    memory.stream = first.stream;
  }
  CallOptions options(nb::none(), priority, deadline);
  operation->prepared = form == Form::Prepare;
  options.c.prepare = operation->prepared ? 1 : 0;
  return carry_out(form, self, std::move(operation), [&, handle = self.use()](lacuna_request** request) {
    return lacuna_exchange_in(handle.get(), &memory, all_neighbours.data(), halos.data(), halos.size(), tag, &options.c,
                              request);
  });
}

/// Binds the exchange in one form.
template <Form form>
void bind_form(nb::class_<Communicator>& type, const char* name, const char* words, const char* signature) {
  type.def(
      name,
      [](const Communicator& self, const std::vector<nb::object>& neighbours, const std::vector<nb::object>& sends,
         const std::vector<nb::object>& receives, int tag, nb::handle priority,
         nb::handle deadline) { return exchange(form, self, neighbours, sends, receives, tag, priority, deadline); },
      nb::arg("neighbours"), nb::arg("sends"), nb::arg("receives"), nb::arg("tag") = 0, nb::kw_only(),
      nb::arg("priority") = "normal", nb::arg("deadline") = nb::none(), words, nb::sig(signature));
}

std::vector<std::int32_t> balanced_grid(std::int32_t size, std::int32_t dimensions) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(std::max(dimensions, 0)) + 1);
  check(lacuna_balanced_grid(size, dimensions, lengths.data()));
  lengths.pop_back();
  return lengths;
}

nb::list grid_neighbours(const std::vector<std::int32_t>& lengths, std::int32_t rank,
                         const std::vector<std::int32_t>& periodic) {
  if (!periodic.empty() && periodic.size() != lengths.size()) {
    fail(LACUNA_INVALID_ARGUMENT, "periodic has " + std::to_string(periodic.size()) + " values, lengths has " +
                                      std::to_string(lengths.size()) + "; they must be equally long");
  }
  std::vector<lacuna_neighbour> neighbours(2 * lengths.size() + 1);
  check(lacuna_grid_neighbours(lengths.data(), periodic.empty() ? nullptr : periodic.data(),
                               static_cast<std::int32_t>(lengths.size()), rank, neighbours.data()));
  neighbours.pop_back();
  nb::list all;
  for (const lacuna_neighbour& one : neighbours) {
    nb::object number = one.rank == LACUNA_NOBODY ? nb::none() : nb::cast(one.rank);
    all.append(nb::make_tuple(number, one.send_direction, one.receive_direction));
  }
  return all;
}

#define LACUNA_EXCHANGE_PARAMETERS                                                                               \
  "(self, neighbours: Sequence[Neighbour], sends: Sequence[BufferLike | None], receives: Sequence[BufferLike | " \
  "None], tag: int = 0, *, priority: str = 'normal', deadline: float | None = None) -> "

constexpr const char* words =
    "Exchange data with the neighbours of this rank.\n\n"
    "Only neighbours wait for each other. What a rank sends in direction d arrives where its neighbour receives from "
    "direction d.\n\n"
    "Parameters\n----------\n"
    "neighbours : sequence of Neighbour\n    With whom, such as those of grid_neighbours().\n"
    "sends, receives : sequence of BufferLike\n    A buffer, or None, for each neighbour. A buffer that receives has "
    "exactly as many elements as the neighbour sends.\n"
    "tag : int\n    0 .. 65535. Exchanges with one tag meet in the order in which they were started.\n";

}  // namespace

void bind_exchanges(nb::module_& module, nb::class_<Communicator>& type) {
  bind_form<Form::Call>(type, "exchange", words, "def exchange" LACUNA_EXCHANGE_PARAMETERS "Report");
  bind_form<Form::Start>(type, "start_exchange", "Start an exchange(), and return its request.",
                         "def start_exchange" LACUNA_EXCHANGE_PARAMETERS "Request");
  bind_form<Form::Prepare>(type, "prepare_exchange", "Make a request that starts this exchange(), any number of times.",
                           "def prepare_exchange" LACUNA_EXCHANGE_PARAMETERS "Request");
  module.def("balanced_grid", &balanced_grid, nb::arg("size"), nb::arg("dimensions"),
             "Return the lengths of a grid of so many ranks. They are close to each other, and descend.");
  module.def("grid_neighbours", &grid_neighbours, nb::arg("lengths"), nb::arg("rank"), nb::arg("periodic"),
             nb::sig("def grid_neighbours(lengths: Sequence[int], rank: int, periodic: Sequence[int]) -> "
                     "list[tuple[int | None, int, int]]"));
}

#undef LACUNA_EXCHANGE_PARAMETERS

}  // namespace lacuna::python
