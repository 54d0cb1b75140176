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

/// One array of a program's state, which a checkpoint saves and fills again in place. The memory belongs to the program
/// and must outlive the calls that get the item. `data` may be null if `count` is 0. The name is not empty, has no '/',
/// and is unique among the items of a program.
struct StateItem {
  std::string name;
  Dtype dtype = Dtype::F32;
  void* data = nullptr;
  std::size_t count = 0;  ///< in elements
};

/// Adds what a method's state holds, under names that begin with `prefix`. The items are valid as long as the arrays of
/// the state. Make these arrays first by add_arrays(), because a checkpoint fills only arrays that exist.
void add_items(MethodState& state, const std::string& prefix, std::vector<StateItem>& items);
/// Makes the arrays that the state of a tensor of so many elements will have.
void add_arrays(const MethodOptions& method, Dtype dtype, std::size_t elements, MethodState& state);

/// A named number or text that is saved beside the arrays. Texts are UTF-8 of any length without zero bytes.
struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string> value;

  bool operator==(const Attribute&) const = default;
};

using Attributes = std::vector<Attribute>;

/// Returns the value of the attribute of that name, or null if there is none or if it has another type. The pointer
/// points into `attributes`.
template <class T>
const T* find_attribute(const Attributes& attributes, std::string_view name) {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == name) return std::get_if<T>(&attribute.value);
  }
  return nullptr;
}

}  // namespace lacuna
