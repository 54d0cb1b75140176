#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/method_state.hpp"

namespace lacuna {

/// One array of a program's state: what a checkpoint saves and fills again in place. The memory belongs to the program
/// and outlives the calls that are given the item; `data` may be null when `count` is 0. The name is unique among the
/// items of a program, not empty, and holds no '/'.
struct StateItem {
  std::string name;
  Dtype dtype = Dtype::F32;
  void* data = nullptr;
  std::size_t count = 0;  ///< in elements
};

/// Adds what a method's state holds, under names that begin with `prefix`; valid while the state keeps its arrays. Make
/// those first (add_arrays()): a checkpoint fills what is there.
void add_items(MethodState& state, const std::string& prefix, std::vector<StateItem>& items);
/// The arrays that the state of a tensor of so many elements will have.
void add_arrays(const MethodOptions& method, Dtype dtype, std::size_t elements, MethodState& state);

/// A named number or text that is saved beside the arrays. Texts are UTF-8 of any length without zero bytes.
struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string> value;

  bool operator==(const Attribute&) const = default;
};

using Attributes = std::vector<Attribute>;

/// The value of the attribute of that name, or null if there is none or if it is of another type. It points into
/// `attributes`.
template <class T>
const T* find_attribute(const Attributes& attributes, std::string_view name) {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == name) return std::get_if<T>(&attribute.value);
  }
  return nullptr;
}

}  // namespace lacuna
