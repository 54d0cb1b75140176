#pragma once

#include <string>
#include <vector>

#include "bindings/python/module/interpreter.hpp"

namespace lacuna::python {

/// A method with its options.
struct Method {
  /// Makes it from text such as "topk:density=0.01".
  explicit Method(const std::string& text);
  /// Takes a method whose options are more than this text. `remake` is what pickle needs to make it again.
  Method(const std::string& text, lacuna_method* made, nb::object remake);
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  ~Method() { lacuna_method_free(c); }

  std::string text, name;
  nb::object remake;
  lacuna_method* c = nullptr;
  std::vector<const char*> measures;  ///< of its reports
  std::size_t entry_length = 0;       ///< elements of an entry; 0: it takes none
};

/// The method that a caller gives: none, a Method, or its text. `owner` keeps it alive.
const Method* method_of(nb::handle given, nb::object& owner);

/// What a method remembers of one tensor.
struct State {
  State(nb::handle method, std::uint64_t seed, std::uint64_t key);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { lacuna_state_free(c); }

  nb::bytes save() const;
  void restore(nb::bytes saved);
  nb::dict arrays() const;
  lacuna_state_values values() const;

  lacuna_state* c = nullptr;
};

void bind_methods(nb::module_& module);
/// Binds the interfaces of the methods whose options are more than text.
void bind_typed_methods(nb::module_& module);

}  // namespace lacuna::python
