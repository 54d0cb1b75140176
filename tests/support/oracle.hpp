#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "runtime/values/call.hpp"

namespace lacuna::test {

/// The inputs of all ranks and what their reduction should be, in plain arithmetic that shares nothing with the
/// library. For floating-point types the inputs are integers so small that no partial result is ever rounded. So there
/// is exactly one right bit pattern for the result, in whatever order the reduction goes. For means they are multiples
/// of a large power of two, so that the mean is in range where the sum is not. Integer types wrap around.
class Oracle {
 public:
  /// An element: a number; the two parts of a complex number; a located number and its index; or, of opaque elements,
  /// what their bytes are multiples of.
  struct Value {
    std::int64_t first = 0, second = 0;
  };

  Oracle(Rank size, Dtype dtype, Reduction reduction, std::size_t elements);

  /// The first `elements` elements of one rank's input.
  const std::byte* input(Rank rank) const { return inputs_[static_cast<std::size_t>(rank)].data(); }
  /// The first `elements` elements of the reduction of all ranks' inputs.
  const std::byte* reduced() const { return reduced_.data(); }
  /// Element `i` of the sum, or of the average over all `size` ranks, without the terms of some ranks.
  void write_sum_without(const std::vector<Rank>& left_out, std::size_t i, std::byte* to) const;
  /// Element `i` of the reduction of the inputs of ranks 0 .. ranks-1, of which there is at least one.
  void write_prefix(Rank ranks, std::size_t i, std::byte* to) const;

 private:
  void write(const Value& value, std::byte* to) const;

  Rank size_;
  Dtype dtype_;
  Reduction reduction_;
  std::vector<std::vector<Value>> values_;  // by rank
  std::vector<Value> totals_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::byte> reduced_;
  std::vector<std::uint64_t> results_;  // the bits of every small integer as a result
};

/// Oracles for one number of ranks, each made when it is first used. Thread rule: one thread at a time.
class Oracles {
 public:
  Oracles(Rank size, std::size_t elements) : size_(size), elements_(elements) {}
  const Oracle& get(Dtype dtype, Reduction reduction);

 private:
  Rank size_;
  std::size_t elements_;
  std::map<std::tuple<Dtype, Reduction>, Oracle> made_;
};

/// The reductions that a type defines, with that of the program.
std::vector<Reduction> reductions_of(Dtype dtype);
/// A reduction of the program's own that adds the bytes of opaque elements, each for itself.
OwnReduction sum_of_bytes(Dtype dtype);

/// Boundary i of n elements cut evenly into m.
std::size_t exact_boundary(std::size_t i, std::size_t n, std::size_t m);

/// Into how many parts a call is cut. The number is doubled while the pieces that travel stay at least `chunk_bytes`
/// long. It is at most 2^14.
std::size_t expected_parts(Collective collective, std::size_t bytes, Rank size, std::size_t chunk_bytes);

}  // namespace lacuna::test
