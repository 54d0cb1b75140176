#include "runtime/run.hpp"

namespace lacuna::runtime {
namespace {

// reduce_scatter's input and allgather's output are blocks of `call.count` elements, one per rank; a part takes the
// same range of each. The other buffer of such a collective holds the own block only.
bool has_blocks(Collective collective) {
  return collective == Collective::ReduceScatter || collective == Collective::Allgather;
}

bool holds_all_blocks(Collective collective, Buffer buffer) {
  return (collective == Collective::ReduceScatter) == (buffer == Buffer::Input);
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
    const std::size_t block = holds_all_blocks(call.collective, region.buffer) ? there.begin * call.count : 0;
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
