#pragma once

#include <cstddef>

#include "bindings/python/module/interpreter.hpp"

namespace lacuna::python {

/// A reduction of the program's own: a compiled function.
struct Reduction {
  nb::object function, context;  ///< keep alive what the addresses belong to
  lacuna_own_reduction c = LACUNA_OWN_REDUCTION_INIT;
  std::size_t size = 0;  ///< bytes of an element; 0: those of the array's elements
};

void bind_reductions(nb::module_& module);

}  // namespace lacuna::python
