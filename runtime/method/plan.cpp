#include "runtime/method/plan.hpp"

#include <algorithm>
#include <bit>

#include "runtime/values/digest.hpp"
#include "runtime/values/region.hpp"

namespace lacuna {

void Plan::clear() {
  parts.clear();
  packed.clear();
  sample = 0;
  reports = draws = false;
  numbers = {};
}

bool Plan::is_dense() const {
  return std::all_of(parts.begin(), parts.end(), [](const PartPlan& part) { return part.is_dense(); });
}

std::uint64_t Plan::digest() const {
  Digest digest;
  for (const PartPlan& part : parts) {
    digest.add(part.data.offset)
        .add(part.data.count)
        .add(std::uint64_t{part.packed} << 2 | std::uint64_t{part.is_sample} << 1 | part.structure.feedback);
    for (int number : part.structure.numbers) digest.add(static_cast<std::uint64_t>(number));
  }
  for (const Stretch& stretch : packed) digest.add(stretch.offset).add(stretch.count);
  return digest.value();
}

std::uint32_t number_of_parts(const Call& call, Rank size, std::size_t chunk_bytes) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.lengths == Lengths::Told) return 1;
  std::size_t longest = call.count;
  if (traits.lengths == Lengths::Agreed) {
    longest = longest_of(traits.input == Holds::Blocks ? call.input_blocks : call.output_blocks);
  }
  const std::size_t pieces = traits.in_pieces ? static_cast<std::size_t>(size) : 1;
  const std::size_t piece_bytes = longest * size_of(call.dtype) / pieces;
  const std::size_t wanted = std::max<std::size_t>(piece_bytes / chunk_bytes, 1);
  return static_cast<std::uint32_t>(std::min<std::size_t>(std::bit_floor(wanted), 64));
}

void add_parts(const Call& call, const PartPlan& stretch, Rank size, std::size_t chunk_bytes, Plan& plan) {
  const auto [offset, count] = stretch.data;
  std::size_t parts = 1;
  if (!stretch.is_packed()) {
    Call alone{.collective = call.collective, .count = count, .dtype = call.dtype};
    alone.input_blocks = call.input_blocks;
    alone.output_blocks = call.output_blocks;
    parts = number_of_parts(alone, size, chunk_bytes);
  }
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = boundary(i, count, parts);
    plan.parts.push_back(stretch);
    plan.parts.back().data = {offset + begin, boundary(i + 1, count, parts) - begin};
  }
}

}  // namespace lacuna
