#pragma once

#include <string>

#include "bindings/python/module/interpreter.hpp"

namespace lacuna::python {

/// A list of entries in place of all elements, as an input or an output.
struct Entries {
  nb::object places, values;
  std::size_t length = 0;
  std::size_t found = 0;  ///< of an output: how many entries there are
};

/// What brings the ranks of a job together.
struct UniqueId {
  lacuna_unique_id c{};
};

void bind_values(nb::module_& module);

}  // namespace lacuna::python
