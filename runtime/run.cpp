#include "runtime/run.hpp"

namespace lacuna::runtime {
namespace {

/// Where there are blocks, a part takes the same range of each; piece i is the block of the rank at position i. A
/// buffer that holds data instead is the own block.
bool holds_blocks(Collective collective, Buffer buffer) {
  const CollectiveTraits& traits = traits_of(collective);
  return (buffer == Buffer::Input ? traits.input : traits.output) == Holds::Blocks;
}

std::byte* base_of(const Call& call, Buffer buffer) {
  const void* base = buffer == Buffer::Input ? call.input : call.output;
  return static_cast<std::byte*>(const_cast<void*>(base));  // inputs are only read: the builder never writes to one
}

}  // namespace

Extent resolve(const ActivePart& part, const Region& region) {
  if (region.is_signal()) return {};
  const Call& call = part.run->call;
  const std::size_t width = size_of(call.dtype);
  if (has_blocks(call.collective)) {
    if (region.buffer == Buffer::Scratch) return {part.scratch + region.slot * part.count * width, part.count};
    const Region there = placed(*part.graph, region, part.position);
    std::size_t block = 0;
    if (holds_blocks(call.collective, region.buffer)) {
      block = static_cast<std::size_t>(part.order.rank_of(static_cast<Rank>(there.begin))) * call.count;
    }
    return {base_of(call, region.buffer) + (block + part.offset) * width, part.count};
  }
  std::size_t begin = 0, end = part.count;
  if (region.of != 1) {
    const Region there = placed(*part.graph, region, part.position);
    begin = boundary(there.begin, part.count, there.of);
    end = boundary(there.end, part.count, there.of);
  }
  if (region.buffer == Buffer::Scratch) return {part.scratch + region.slot * part.count * width, end - begin};
  return {base_of(call, region.buffer) + (part.offset + begin) * width, end - begin};
}

}  // namespace lacuna::runtime
