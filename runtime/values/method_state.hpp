#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/sampler.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// A named array of a state.
struct StateArray {
  std::string name;
  Dtype dtype = Dtype::F32;
  bool own = false;  ///< each rank has its own; else it is equal on all
  std::vector<std::byte> bytes;

  std::size_t count() const { return bytes.size() / size_of(dtype); }
};

/// What a method keeps of one tensor from call to call: plain values that the caller owns, saves and restores. All but
/// the arrays that are each rank's own is equal on all ranks. It lives as long as the buffers of the calls that have
/// it; one that keeps a residual serves one call at a time.
struct MethodState {
  Sampler sampler{};
  std::uint64_t runs = 0;  ///< calls started with it
  bool in_use = false;     ///< a call is changing its arrays
  std::vector<StateArray> arrays{};
  /// The states of all tensors of one model, this one too, equal on all ranks; none: this one alone. A method may
  /// compare what they hold. It is not saved. The states and the list live as long as the buffers.
  std::span<MethodState* const> model{};

  /// Null if there is none.
  StateArray* find(std::string_view name);
  const StateArray* find(std::string_view name) const;
  /// The array of this name, which is made with so many zeros if there is none.
  StateArray& array(std::string_view name, Dtype dtype, std::size_t count, bool own);

  /// All of it but in_use and model, to be put into a checkpoint. Busy while a call changes its arrays; a failed call
  /// does so until it has given its buffers back.
  Result<std::vector<std::byte>> save() const;
  /// As it was saved. What is damaged, or of another version, is refused, and nothing has changed. Busy, as save().
  Status restore(std::span<const std::byte> saved);
};

}  // namespace lacuna
