// The module lacuna._lacuna: what the package lacuna needs of the C API.
#include "bindings/python/module/communicator.hpp"
#include "bindings/python/module/exit.hpp"
#include "bindings/python/module/lists.hpp"
#include "bindings/python/module/reduction.hpp"
#include "bindings/python/module/values.hpp"

NB_MODULE(_lacuna, module) {
  using namespace lacuna::python;
  nb::set_leak_warnings(false);  // at the exit, calls in flight and methods that were made from text stay
  module.doc() = "The compiled part of lacuna.";
  module.def("set_errors", &set_errors, nb::arg("classes"),
             nb::sig("def set_errors(classes: list[type[Exception]]) -> None"));
  module.def("leave", &leave);
  bind_lists(module);
  bind_values(module);
  bind_methods(module);
  bind_typed_methods(module);
  bind_reductions(module);
  bind_reports(module);
  bind_requests(module);
  bind_communicators(module);
}
