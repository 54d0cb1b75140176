#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/values/dtype.hpp"

/// Sparse arrays and their messages: as the definition of the formats has them, byte by byte, and as the kernels do.
namespace lacuna::test {

using Bytes = std::vector<std::byte>;

inline constexpr Dtype float_dtypes[] = {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16};

/// Which of so many places have what bits.
struct Sparse {
  Dtype dtype = Dtype::F32;
  std::size_t length = 0;
  std::vector<std::uint32_t> places;
  std::vector<std::uint64_t> values;

  bool operator==(const Sparse&) const = default;
};

/// Each place with this probability; values are whole numbers, not zero, of which a few hundred add up exactly.
Sparse drawn_sparse(Dtype dtype, std::size_t length, double density, std::mt19937_64& random);

/// Elements behind each other, and element i of such.
Bytes packed(Dtype dtype, const std::vector<std::uint64_t>& values);
std::uint64_t element_bits(Dtype dtype, const std::byte* data, std::size_t i);

/// The message of a format, by its definition.
Bytes written(const Sparse& sparse, kernels::Format format, std::uint32_t segment);
/// What a message holds, by the definition; nothing if it is no sound one of this segment.
std::optional<Sparse> read(std::span<const std::byte> message, Dtype dtype, std::uint32_t segment, std::size_t length);

/// The message by the kernels, of a list whose places are counted from `base`.
Bytes encoded(const kernels::Backend& on, const Sparse& sparse, kernels::Format format, std::uint32_t segment,
              std::uint32_t base = 0);

/// A message with its view and index, as sum() and merge() want it; its own copy, at an odd address, with nothing
/// behind it. Nothing if view_of() or index() refuses it.
struct Indexed {
  Bytes memory;
  kernels::EntriesView view;
  std::vector<std::uint32_t> before;
};
std::optional<Indexed> indexed(const kernels::Backend& on, std::span<const std::byte> message, Dtype dtype,
                               std::uint32_t segment, std::size_t length);

/// The entries of a sum by Backend::merge, which finds so much room for them; and how many it counted.
struct Merged {
  Sparse sparse;
  std::uint64_t taken = 0;
};
Merged merged(const kernels::Backend& on, const std::vector<Indexed>& from, Scale scale, Dtype dtype,
              std::size_t length, std::size_t room);
/// All elements of a sum by Backend::sum; and how many entries it counted.
struct Summed {
  std::vector<std::uint64_t> elements;
  std::uint64_t entries = 0;
};
Summed summed(const kernels::Backend& on, const std::vector<Indexed>& from, Scale scale, Dtype dtype,
              std::size_t length);

}  // namespace lacuna::test
