#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/values/method_state.hpp"

namespace lacuna::test {

/// What an array of a state holds; nothing if there is no such array.
inline std::vector<std::byte> bytes_of(const MethodState& state, std::string_view name) {
  const StateArray* array = state.find(name);
  std::vector<std::byte> bytes(array ? array->bytes.size() : 0);
  if (array) array->bytes.copy_to(bytes.data());
  return bytes;
}

}  // namespace lacuna::test
