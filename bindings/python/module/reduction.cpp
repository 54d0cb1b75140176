#include "bindings/python/module/reduction.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

namespace lacuna::python {
namespace {

/// The address that a number, a function of numba.cfunc() or a pointer of ctypes stands for.
void* address_of(nb::handle given, const char* name) {
  constexpr const char* allowed = "an address, a function of ctypes, a function of numba.cfunc()";
  if (PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr())) fail_type(name, given, allowed);
  nb::object number = nb::borrow(given);
  if (!PyLong_Check(given.ptr())) number = nb::getattr(given, "address", nb::none());
  if (number.is_none()) {
    nb::module_ ctypes = nb::module_::import_("ctypes");
    try {
      number = ctypes.attr("cast")(given, ctypes.attr("c_void_p")).attr("value");
    } catch (nb::python_error&) {
      fail_type(name, given, allowed);
    }
  }
  void* const address = PyLong_AsVoidPtr(number.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  return address;
}

void make(Reduction* self, nb::object function, std::uint64_t id, std::size_t size, nb::object context) {
  Reduction made;
  made.c.function = reinterpret_cast<lacuna_own_function>(address_of(function, "function"));
  if (!made.c.function) fail(LACUNA_INVALID_ARGUMENT, "the address of the function is 0");
  if (!context.is_none()) made.c.context = address_of(context, "context");
  made.c.id = id;
  made.size = size;
  made.function = std::move(function);
  made.context = std::move(context);
  new (self) Reduction(std::move(made));
}

}  // namespace

void bind_reductions(nb::module_& module) {
  nb::class_<Reduction>(
      module, "Reduction",
      "A reduction of the program's own, for elements that only the program understands.\n\n"
      "Parameters\n----------\n"
      "function : int, function of ctypes or of numba.cfunc()\n"
      "    A compiled function void f(void* context, const void* input, void* inout, size_t count): each element of "
      "inout becomes the reduction of itself and that of input. It must be associative and commutative. It runs "
      "without "
      "the interpreter's lock and must not need it, so it can't be a function of Python.\n"
      "id : int\n    Says which reduction it is: equal on all ranks.\n"
      "size : int, optional\n    Bytes of an element: 1, 2, 4 ... 64. By default those of the array's elements.\n"
      "context : int or pointer of ctypes, optional\n    What the function gets.")
      .def("__init__", &make, nb::arg("function"), nb::arg("id"), nb::kw_only(), nb::arg("size") = 0,
           nb::arg("context") = nb::none(),
           nb::sig("def __init__(self, function: Any, id: int, *, size: int = 0, context: Any = None) -> None"))
      .def_prop_ro(
          "id", [](const Reduction& reduction) { return reduction.c.id; }, "The number that all ranks give.")
      .def_ro("size", &Reduction::size, "Bytes of an element; 0: those of the array's elements.")
      .def("__repr__", [](const Reduction& reduction) {
        return "<lacuna.Reduction id=" + std::to_string(reduction.c.id) + " size=" + std::to_string(reduction.size) +
               ">";
      });
}

}  // namespace lacuna::python
