#include "bindings/python/module/values.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>

namespace lacuna::python {
namespace {

UniqueId id_of(nb::bytes bytes) {
  UniqueId id;
  if (bytes.size() != sizeof(id.c.bytes)) {
    fail(LACUNA_INVALID_ARGUMENT,
         "an id has " + std::to_string(sizeof(id.c.bytes)) + " bytes, not " + std::to_string(bytes.size()));
  }
  std::memcpy(id.c.bytes, bytes.c_str(), sizeof(id.c.bytes));
  return id;
}

nb::bytes bytes_of(const UniqueId& id) { return nb::bytes(id.c.bytes, sizeof(id.c.bytes)); }

UniqueId make_unique_id(std::optional<std::string> address) {
  UniqueId id;
  check(lacuna_make_unique_id(address ? address->c_str() : nullptr, &id.c));
  return id;
}

void bind_sampler(nb::module_& module) {
  nb::class_<lacuna_sampler>(module, "Sampler",
                             "The source of random choices of a call. All ranks hold equal numbers. A random call "
                             "advances draw by one when it starts.")
      .def(
          "__init__",
          [](lacuna_sampler* self, std::uint64_t seed, std::uint64_t key, std::uint64_t draw) {
            new (self) lacuna_sampler{seed, key, draw};
          },
          nb::arg("seed"), nb::arg("key") = 0, nb::arg("draw") = 0)
      .def_rw("seed", &lacuna_sampler::seed, "Equal seeds give equal choices.")
      .def_rw("key", &lacuna_sampler::key, "For instance the number of a tensor.")
      .def_rw("draw", &lacuna_sampler::draw, "How many random calls it has served.")
      .def("__repr__", [](const lacuna_sampler& sampler) {
        return "lacuna.Sampler(seed=" + std::to_string(sampler.seed) + ", key=" + std::to_string(sampler.key) +
               ", draw=" + std::to_string(sampler.draw) + ")";
      });
}

}  // namespace

void bind_values(nb::module_& module) {
  bind_sampler(module);

  module.def(
      "allocate",
      [](std::size_t bytes) {
        void* memory = nullptr;
        check(lacuna_alloc(bytes, &memory));
        return reinterpret_cast<std::uintptr_t>(memory);
      },
      nb::arg("bytes"), "Take memory that other ranks of this host can map, and return its address.");
  module.def(
      "free", [](std::uintptr_t address) { lacuna_free(reinterpret_cast<void*>(address)); }, nb::arg("address"),
      "Give back what allocate() has returned.");

  nb::class_<Entries>(module, "Entries",
                      "A list of entries in place of all elements, for calls whose method takes entries.\n\n"
                      "Parameters\n----------\n"
                      "places : buffer of uint32\n    The place of each entry. Those of an output are written, "
                      "ascending.\n"
                      "values : buffer\n    The elements of each entry.\n"
                      "length : int\n    How many elements there are in all.")
      .def(
          "__init__",
          [](Entries* self, nb::object places, nb::object values, std::size_t length) {
            new (self) Entries{std::move(places), std::move(values), length};
          },
          nb::arg("places"), nb::arg("values"), nb::arg("length"))
      .def_ro("places", &Entries::places, "The buffer of places.")
      .def_ro("values", &Entries::values, "The buffer of values.")
      .def_ro("length", &Entries::length, "How many elements there are in all.")
      .def_ro("found", &Entries::found, "Of an output: how many entries the call has written.");

  nb::class_<UniqueId>(module, "UniqueId", "What brings the ranks of one job together. Who reads it can join the job.")
      .def(
          "__init__", [](UniqueId* self, nb::bytes bytes) { new (self) UniqueId(id_of(bytes)); }, nb::arg("bytes"))
      .def("__bytes__", &bytes_of)
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(bytes_of(nb::cast<UniqueId&>(self))));
      });
  module.def("make_unique_id", &make_unique_id, nb::arg("address") = nb::none(),
             "Make an id for a job whose rank 0 is this process. Rank 0 listens from now on, at a free port of the "
             "address or of all addresses of this host. The program gives the id to all ranks, which join by "
             "init(rank, size, id=id).");
}

}  // namespace lacuna::python
