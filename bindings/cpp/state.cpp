#include "bindings/cpp/state.hpp"

#include "runtime/method/method.hpp"

namespace lacuna {

void add_items(MethodState& state, const std::string& prefix, std::vector<StateItem>& items) {
  items.push_back({prefix + "sampler", Dtype::I64, &state.sampler, sizeof(Sampler) / sizeof(std::int64_t)});
  items.push_back({prefix + "runs", Dtype::I64, &state.runs, 1});
  for (StateArray& array : state.arrays) {
    items.push_back({prefix + array.name, array.dtype, array.bytes.data(), array.count()});
  }
}

void add_arrays(const MethodOptions& method, Dtype dtype, std::size_t elements, MethodState& state) {
  if (method && method.method()->state) method.method()->state(method.get(), dtype, elements, state);
}

}  // namespace lacuna
