#include "runtime/graph/plan.hpp"

#include <algorithm>
#include <bit>

#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/region.hpp"

namespace lacuna {

void Plan::clear(MeasureTable table) {
  parts.clear();
  stretches.clear();
  in_flight = 0;
  reports = draws = writes_state = false;
  const bool has_none = table.empty() && measures.table().empty();  // as in every dense call
  if (!has_none) measures.begin(table);
}

bool Plan::is_dense() const {
  return std::all_of(parts.begin(), parts.end(), [](const PartPlan& part) { return part.is_dense(); });
}

std::uint64_t digest_of(const PartPlan& part) {
  Digest digest;
  digest.add(part.data.offset)
      .add(part.data.count)
      .add(std::uint64_t{part.stretches} << 8 | std::uint64_t{part.structure.frame != nullptr} << 2 |
           std::uint64_t{part.waits} << 1 | std::uint64_t{part.beside});
  if (part.structure.frame) digest.add(part.structure.frame->name);
  part.structure.parameters.add_to(digest);
  part.arguments.add_to(digest);
  digest.add(part.draw);
  if (part.program) digest.add(part.program->name);
  return digest.value();
}

std::uint64_t Plan::digest() const {
  Digest digest;
  digest.add(in_flight);
  for (const PartPlan& part : parts) digest.add(digest_of(part));
  for (const Stretch& stretch : stretches) digest.add(stretch.offset).add(stretch.count);
  return digest.value();
}

std::uint32_t number_of_parts(const Call& call, std::size_t count, Rank size, std::size_t chunk_bytes) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.lengths == Lengths::Told) return 1;
  std::size_t longest = count;
  if (traits.lengths == Lengths::Agreed) {
    longest = longest_of(traits.input == Holds::Blocks ? call.input_blocks : call.output_blocks);
  }
  if (longest * size_of(call.dtype) <= chunk_bytes) return 1;  // a division is slow
  const std::size_t pieces = traits.in_pieces ? static_cast<std::size_t>(size) : 1;
  const std::size_t piece_bytes = longest * size_of(call.dtype) / pieces;
  const std::size_t wanted = std::max<std::size_t>(piece_bytes / chunk_bytes, 1);
  return static_cast<std::uint32_t>(std::min<std::size_t>(std::bit_floor(wanted), most_parts));
}

void add_parts(const Call& call, const PartPlan& stretch, Rank size, std::size_t chunk_bytes, Plan& plan) {
  const auto [offset, count] = stretch.data;
  std::uint32_t parts = 1;
  if (stretch.stretches == 0 && !stretch.beside) parts = number_of_parts(call, count, size, chunk_bytes);
  const PartPlan* last = plan.parts.empty() ? nullptr : &plan.parts.back();
  std::uint32_t draw = last ? last->draw + !last->beside : 0;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::size_t begin = boundary(i, count, parts);
    PartPlan& part = plan.parts.emplace_back(stretch);
    part.data = {offset + begin, boundary(i + 1, count, parts) - begin};
    part.share = i;
    part.shares = parts;
    part.draw = draw++;
    part.waits = stretch.waits && i == 0;
  }
}

/// A part of several has less than twice the bytes of a chunk.
void add_rows(const Call& call, const PartPlan& stretch, std::size_t chunk_bytes, Plan& plan) {
  const bool is_short = stretch.data.count * size_of(call.dtype) <= board_row_bytes;
  add_parts(call, stretch, 1, is_short ? board_row_bytes : std::min(chunk_bytes, board_row_bytes / 2), plan);
}

}  // namespace lacuna
