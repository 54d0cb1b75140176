#include "bindings/python/module/method.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "bindings/python/module/element_types.hpp"

namespace lacuna::python {
namespace {

std::string name_of(const std::string& text) { return text.substr(0, text.find(':')); }

std::vector<const char*> measures_of(const std::string& method) {
  std::vector<const char*> names;
  std::size_t count = 0;
  check(lacuna_list_measures(method.c_str(), 0, nullptr, &count));
  for (std::size_t i = 0; i < count; ++i) {
    lacuna_measure_row row = LACUNA_MEASURE_ROW_INIT;
    check(lacuna_list_measures(method.c_str(), i, &row, nullptr));
    names.push_back(row.name);
  }
  return names;
}

/// A memoryview of a copy of an array.
nb::object copy_of(const lacuna_state* state, std::size_t index, const lacuna_state_array& array) {
  const Items items = items_of(static_cast<lacuna_dtype>(array.dtype));
  const std::size_t count = items.each * array.count;
  const std::size_t size = count * (items.type.bits / 8);
  auto memory = std::make_unique<std::byte[]>(size);
  check(lacuna_copy_state_array(state, index, memory.get(), size));
  const nb::capsule owner(memory.get(), [](void* bytes) noexcept { delete[] static_cast<std::byte*>(bytes); });
  return nb::cast(nb::ndarray<nb::memview>(memory.release(), 1, &count, owner, nullptr, items.type));
}

nb::dict sampler_of(const lacuna_sampler& sampler) {
  nb::dict numbers;
  numbers["seed"] = sampler.seed;
  numbers["key"] = sampler.key;
  numbers["draw"] = sampler.draw;
  return numbers;
}

void set_model(State& state, const std::vector<State*>& states) {
  std::vector<lacuna_state*> model;
  for (State* one : states) model.push_back(one->c);
  check(lacuna_state_set_model(state.c, model.data(), model.size()));
}

lacuna_method* made_of(const std::string& text) {
  const std::string name = name_of(text), options = name.size() < text.size() ? text.substr(name.size() + 1) : "";
  lacuna_method* made = nullptr;
  check(lacuna_method_create(name.c_str(), options.c_str(), &made));
  return made;
}

}  // namespace

Method::Method(const std::string& given)
    : Method(given, made_of(given), nb::make_tuple(nb::type<Method>(), nb::make_tuple(given))) {}

Method::Method(const std::string& given, lacuna_method* made, nb::object maker)
    : text(given), name(name_of(given)), remake(std::move(maker)), c(made) {
  check(lacuna_entry_length(c, &entry_length));
  measures = measures_of(name);
}

const Method* method_of(nb::handle given, nb::object& owner) {
  // Methods that were made from text. A program names few, but one that makes up texts must not fill the memory.
  static PyObject* const known = PyDict_New();
  constexpr Py_ssize_t most = 256;
  if (given.is_none()) return nullptr;
  if (!PyUnicode_Check(given.ptr())) {
    owner = nb::borrow(given);
    return &object_of<Method>(given, "method", "lacuna.Method, text such as 'topk:density=0.01', None");
  }
  owner = nb::borrow(PyDict_GetItemWithError(known, given.ptr()));
  if (!owner.is_valid()) {
    owner = nb::cast(new Method(nb::cast<std::string>(given)), nb::rv_policy::take_ownership);
    if (PyDict_GET_SIZE(known) >= most) PyDict_Clear(known);
    if (PyDict_SetItem(known, given.ptr(), owner.ptr()) != 0) throw nb::python_error();
  }
  return nb::cast<const Method*>(owner);
}

State::State(nb::handle method, std::uint64_t seed, std::uint64_t key) {
  nb::object owner;
  const Method* const made_for = method_of(method, owner);
  check(lacuna_state_create(made_for ? made_for->c : nullptr, seed, key, &c));
}

nb::bytes State::save() const {
  std::size_t length = 0;
  lacuna_state_save(c, nullptr, 0, &length);
  std::string bytes(length, '\0');
  check(lacuna_state_save(c, bytes.data(), bytes.size(), &length));
  return nb::bytes(bytes.data(), bytes.size());
}

void State::restore(nb::bytes saved) { check(lacuna_state_restore(c, saved.c_str(), saved.size())); }

lacuna_state_values State::values() const {
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  check(lacuna_get_state(c, &values));
  return values;
}

nb::dict State::arrays() const {
  nb::dict all;
  const std::size_t count = values().arrays;
  for (std::size_t i = 0; i < count; ++i) {
    lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
    check(lacuna_get_state_array(c, i, &array));
    all[array.name] = copy_of(c, i, array);
  }
  return all;
}

void bind_methods(nb::module_& module) {
  nb::class_<Method>(module, "Method",
                     "What a call gives up: a method with its options. Any number of calls may use it.")
      .def(nb::init<const std::string&>(), nb::arg("text"))
      .def_ro("name", &Method::name, "The name of the method.")
      .def_ro("text", &Method::text, "The text that makes this method.")
      .def("__repr__", [](const Method& method) { return "lacuna.method('" + method.text + "')"; })
      .def(
          "__eq__",
          [](const Method& method, nb::handle other) {
            const Method* right = nullptr;
            return nb::try_cast(other, right) && right && right->remake.equal(method.remake);
          },
          nb::arg("other").none())
      .def("__hash__", [](const Method& method) { return std::hash<std::string>()(method.text); })
      .def("__reduce__", [](const Method& method) { return method.remake; });

  nb::class_<State>(module, "State",
                    "What a method remembers of one tensor from call to call.\n\n"
                    "Parameters\n----------\n"
                    "method : Method or str, optional\n    The method that the state is for; without it, any.\n"
                    "seed, key : int\n    Of its sampler; equal on all ranks.")
      .def(nb::init<nb::handle, std::uint64_t, std::uint64_t>(), nb::arg("method") = nb::none(), nb::arg("seed") = 0,
           nb::arg("key") = 0,
           nb::sig("def __init__(self, method: Method | str | None = None, seed: int = 0, key: int = 0) -> None"))
      .def_prop_ro(
          "runs", [](const State& state) { return state.values().runs; }, "How many calls it has served.")
      .def_prop_ro(
          "sampler", [](const State& state) { return sampler_of(state.values().sampler); },
          "The numbers seed, key and draw of its sampler.", nb::sig("def sampler(self) -> dict[str, int]"))
      .def_prop_ro(
          "arrays", &State::arrays,
          "Copies of its arrays, by name. numpy.asarray() shows one as an array. Elements of bf16 are shown as "
          "uint16, complex numbers as pairs. Python can index those of f16 from 3.12 on.",
          nb::sig("def arrays(self) -> dict[str, memoryview]"))
      .def("save", &State::save, "Return the whole state as bytes. Each rank saves its own.")
      .def("restore", &State::restore, nb::arg("saved"), "Make the state what it was when the bytes were saved.")
      .def("set_model", &set_model, nb::arg("states"),
           "Say which states belong to the tensors of one model, this one too. All ranks give the same list.",
           nb::keep_alive<1, 2>());
}

}  // namespace lacuna::python
