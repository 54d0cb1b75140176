#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/values/dtype.hpp"

/// Sparse arrays and their messages: by the definition of the formats, byte by byte, and by the kernels.
namespace lacuna::test {

using Bytes = std::vector<std::byte>;

inline constexpr Dtype float_dtypes[] = {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16};

/// A sparse array of `length` places: which of them have entries, and the bits of their values.
struct Sparse {
  Dtype dtype = Dtype::F32;
  std::size_t length = 0;
  std::vector<std::uint32_t> places;
  std::vector<std::uint64_t> values;

  bool operator==(const Sparse&) const = default;
};

/// Draws an array in which each place has an entry with this probability. Values are integers other than zero, of which
/// a few hundred add up exactly.
Sparse drawn_sparse(Dtype dtype, std::size_t length, double density, std::mt19937_64& random);

// Elements in memory, and element i of them.
Bytes packed(Dtype dtype, const std::vector<std::uint64_t>& values);
std::uint64_t element_bits(Dtype dtype, const std::byte* data, std::size_t i);

/// The message in a format, by the definition of the format.
Bytes written(const Sparse& sparse, kernels::Format format, std::uint32_t segment);
/// What a message holds, by the definition of its format. Nothing if it is no sound message of this range.
std::optional<Sparse> read(std::span<const std::byte> message, Dtype dtype, std::uint32_t segment, std::size_t length);

/// The message that the kernels make of a list, whose places count from `base`.
Bytes encoded(const kernels::Backend& on, const Sparse& sparse, kernels::Format format, std::uint32_t segment,
              std::uint32_t base = 0);

/// A message with its view and index, for sum() and merge(). It is a copy at an odd address, with nothing behind it.
/// There is no view if view_of() or index() refuses the message.
struct Indexed {
  Bytes memory;
  kernels::EntriesView view;
  std::vector<std::uint32_t> before;
};
std::optional<Indexed> indexed(const kernels::Backend& on, std::span<const std::byte> message, Dtype dtype,
                               std::uint32_t segment, std::size_t length);

/// The entries of a sum that Backend::merge makes with so much room for entries, and how many it has counted.
struct Merged {
  Sparse sparse;
  std::uint64_t taken = 0;
};
Merged merged(const kernels::Backend& on, const std::vector<Indexed>& from, Scale scale, Dtype dtype,
              std::size_t length, std::size_t room);
/// All elements of a sum that Backend::sum makes, and how many entries it has counted.
struct Summed {
  std::vector<std::uint64_t> elements;
  std::uint64_t entries = 0;
};
Summed summed(const kernels::Backend& on, const std::vector<Indexed>& from, Scale scale, Dtype dtype,
              std::size_t length);

}  // namespace lacuna::test
