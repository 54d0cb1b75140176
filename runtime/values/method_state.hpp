#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/memory.hpp"
#include "runtime/values/sampler.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// A named array of a state.
struct StateArray {
  std::string name;
  Dtype dtype = Dtype::F32;
  bool own = false;  ///< true: each rank has its own array; false: the array is equal on all ranks
  MemoryBlock bytes;

  std::size_t count() const { return bytes.size() / size_of(dtype); }
};

/// What a method remembers of one tensor from call to call: plain values that the caller owns, saves and restores. All
/// of it is equal on all ranks, except arrays with StateArray::own. It must live as long as the buffers of the calls
/// that use it. A state with a residual serves one call at a time.
struct MethodState {
  Sampler sampler{};
  std::uint64_t runs = 0;  ///< number of calls started with this state
  bool in_use = false;     ///< true while a call changes the arrays
  std::vector<StateArray> arrays{};
  /// The states of all tensors of one model, with this one among them; empty: this state is alone. A method may compare
  /// what they hold. The list is equal on all ranks and is not saved. The states and the list must live as long as the
  /// buffers.
  std::span<MethodState* const> model{};

  /// The array of this name, or null if there is none.
  StateArray* find(std::string_view name);
  const StateArray* find(std::string_view name) const;
  /// The array of this name. If there is none, it is made in this space, with `count` zeros.
  StateArray& array(std::string_view name, Dtype dtype, std::size_t count, bool own,
                    MemorySpace& space = host_memory());

  /// Returns all of it except in_use and model, for a checkpoint. The error is Busy while a call changes the arrays. A
  /// failed call may change them until it has given its buffers back.
  Result<std::vector<std::byte>> save() const;
  /// Makes the state what it was when it was saved. Bytes that are damaged or of another version are refused, and then
  /// nothing has changed. The error is Busy in the same cases as in save().
  Status restore(std::span<const std::byte> saved);
};

}  // namespace lacuna
