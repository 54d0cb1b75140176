#pragma once

#include "bindings/python/module/interpreter.hpp"

namespace lacuna::python {

void bind_lists(nb::module_& module);

}  // namespace lacuna::python
