#include "runtime/engine/active_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/memory_pools.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {
namespace {

/// Does a buffer of this role hold a block for each rank? Then a part takes the same range of each block, and piece i
/// is the block of the rank at position i. Any other buffer is this rank's own block. Buffers that are laid out like
/// the input are treated like it.
bool holds_blocks(Collective collective, Role role) {
  const CollectiveTraits& traits = traits_of(collective);
  return (role == Role::Output ? traits.output : traits.input) == Holds::Blocks;
}

std::size_t rank_of_piece(const ActivePart& part, const Region& region) {
  const Region there = placed(*part.graph, region, part.position);
  return static_cast<std::size_t>(part.order.rank_of(static_cast<Rank>(there.begin)));
}

struct Range {
  std::size_t begin = 0, count = 0;
};

/// Returns a part's share of a block whose length a table gives. A block in scratch is as long as the block of the
/// input or output that it stands for.
Range range_in_table(const ActivePart& part, const Region& region, Role role) {
  const Call& call = part.run->call;
  const bool scratch = role == Role::Scratch;
  const bool input = scratch ? holds_blocks(call.collective, Role::Input) : role != Role::Output;
  std::size_t block = 0, length = call.count;
  const Blocks& blocks = input ? call.input_blocks : call.output_blocks;
  if (!blocks.counts.empty() && (scratch || holds_blocks(call.collective, role))) {
    const std::size_t rank = rank_of_piece(part, region);
    block = blocks.offsets[rank];
    length = blocks.counts[rank];
  }
  const std::size_t begin = boundary(part.plan->share, length, part.plan->shares);
  const std::size_t count = boundary(part.plan->share + 1, length, part.plan->shares) - begin;
  return {scratch ? 0 : block + begin, count};
}

Range range_in_blocks(const ActivePart& part, const Region& region, const BufferInfo& info) {
  const Call& call = part.run->call;
  if (has_tables(call.collective)) return range_in_table(part, region, info.role);
  if (info.role == Role::Scratch) return {0, part.count};
  const std::size_t block = holds_blocks(call.collective, info.role) ? rank_of_piece(part, region) * call.count : 0;
  return {block + part.offset, part.count};
}

Range told_range(const ActivePart& part, const Region& region) {
  return {region.offset() == Value::None ? 0 : part.value(region.offset()), part.value(region.length())};
}

/// Throws if the region shares elements with another one that is declared disjoint from it. A region whose values are
/// not known yet has no length: it is compared when its own step begins.
void check_disjoint(const ActivePart& part, const Region& region, const Range& range) {
  for (const Region& other : part.graph->tables().disjoint[region.apart - 1u]) {
    if (other.begin == region.begin && other.end == region.end) continue;
    const Range there = told_range(part, other);
    const bool apart = there.begin >= range.begin ? there.begin - range.begin >= range.count
                                                  : range.begin - there.begin >= there.count;
    if (apart || there.count == 0 || range.count == 0) continue;
    throw std::length_error(fmt::format(
        "part {}: {} from {} on and {} from {} on share elements, which the program "
        "has declared disjoint",
        part.number, count_of(range.count, "element"), range.begin, count_of(there.count, "element"), there.begin));
  }
}

Range counted_range(const ActivePart& part, const Region& region) {
  const std::size_t length = part.buffer(region).room;
  const auto [begin, count] = told_range(part, region);
  if (region.apart != 0) check_disjoint(part, region, {begin, count});
  if (begin <= length && count <= length - begin) return {begin, count};
  throw std::length_error(fmt::format("part {}: {} from {} on in a buffer that holds {}", part.number,
                                      count_of(count, "element"), begin, length));
}

/// Where a buffer lies. If the data lie on a device, tables lie in pinned memory, where kernels on the device and on
/// the host reach them. What the caller gives lies where it is declared.
MemoryKind memory_of(const ActivePart& part, const BufferInfo& info) {
  const MemoryKind data = part.run->call.memory.kind;
  const MemoryKind declared = info.memory.value_or(data);
  if (info.role == Role::Caller || data == MemoryKind::Host) return declared;
  return declared == MemoryKind::Host ? MemoryKind::CudaHost : declared;
}

/// Returns an array of the state, and makes it first if it does not exist.
std::byte* array_of(const ActivePart& part, const BufferInfo& info, const MemoryPools& memory) {
  const Call& call = part.run->call;
  if (!call.options.state)
    throw std::invalid_argument(fmt::format("the call has no state, which must hold the array {}", info.name));
  const std::size_t count = info.capacity ? info.capacity(view_of(part)) : input_length(call, part.order.size());
  const Dtype dtype = info.element.value_or(call.dtype);
  const MemoryKind kind = memory_of(part, info);
  StateArray& array = call.options.state->array(info.name, dtype, count, info.own, memory.space_of(kind));
  if (array.bytes.kind() != kind) array.bytes = MemoryBlock(array.bytes, memory.space_of(kind));
  if (array.count() == count && array.dtype == dtype) return array.bytes.data();
  throw std::length_error(fmt::format("the state's array {} has {} of {}, this call needs {} of {}", info.name,
                                      count_of(array.count(), "element"), to_string(array.dtype), count,
                                      to_string(dtype)));
}

std::size_t capacity_of(const ActivePart& part, const BufferInfo& info) {
  if (info.capacity) return info.capacity(view_of(part));
  const bool whole = has_blocks(part.run->call.collective) || info.longest == info.pieces;
  return whole ? part.count : (part.count / info.pieces + 1) * info.longest + 1;
}

/// Returns one of the caller's two buffers, the input or the output.
PartBuffer callers_buffer(const ActivePart& part, Role role) {
  const Call& call = part.run->call;
  const void* base = role == Role::Input ? call.input : call.output;
  auto* data =
      static_cast<std::byte*>(const_cast<void*>(base));  // inputs are only read: the builder never writes to one
  std::size_t length = part.count;
  if (part.plan->stretches > 0) {
    length = call.count;
  } else if (data && !has_blocks(call.collective)) {
    data += part.offset * size_of(call.dtype);
  }
  return {.data = data,
          .length = length,
          .room = length,
          .dtype = call.dtype,
          .reduction = call.reduction,
          .memory = call.memory.kind};
}

PartBuffer buffer_of(ActivePart& part, const BufferInfo& info, MemoryPools& memory) {
  const Call& call = part.run->call;
  if (info.role <= Role::Output) return callers_buffer(part, info.role);
  if (info.role == Role::Caller) {
    const Extent there = info.locate(view_of(part));
    return {.data = there.data,
            .length = there.count,
            .room = there.count,
            .dtype = there.dtype,
            .reduction = there.reduction,
            .memory = memory_of(part, info)};
  }
  PartBuffer buffer{.dtype = info.element.value_or(call.dtype),
                    .reduction = info.element ? Reduction::Sum : call.reduction,
                    .memory = memory_of(part, info)};
  buffer.length = info.is_like_data() ? part.count : capacity_of(part, info);
  buffer.room = buffer.length;
  if (info.role == Role::Scratch) {
    buffer.room = capacity_of(part, info);
    buffer.mappable = info.mappable && buffer.memory == MemoryKind::Host;
    buffer.taken = buffer.room * size_of(buffer.dtype);
    if (buffer.taken > 0) buffer.data = memory.of(buffer.memory, buffer.mappable).take(buffer.taken);
  } else if (info.role == Role::Run) {
    const std::size_t bytes = buffer.length * size_of(buffer.dtype);
    buffer.data = collective_of(part).run_memory(info.name, bytes, memory.of(buffer.memory));
  } else if (info.role == Role::State) {
    buffer.data = array_of(part, info, memory);
    if (!has_blocks(call.collective) && info.is_like_data()) buffer.data += part.offset * size_of(buffer.dtype);
  }
  return buffer;
}

}  // namespace

PartView view_of(const ActivePart& part) {
  const CollectiveRun& run = collective_of(part);
  return {.call = run.call,
          .plan = run.plan,
          .part = *part.plan,
          .size = part.order.size(),
          .position = part.position,
          .count = part.count,
          .state_run = run.state_run};
}

void cut(ActivePart& part) {
  const Call& call = part.run->call;
  part.offset = part.plan->data.offset;
  part.count = part.plan->data.count;
  if (!has_tables(call.collective)) return;
  const std::size_t longest = std::max({longest_of(call.input_blocks), longest_of(call.output_blocks), call.count});
  part.offset = 0;
  part.count = (longest + part.plan->shares - 1) / part.plan->shares;
}

void lay_out(ActivePart& part, MemoryPools& memory) {
  part.buffers.clear();
  for (const BufferInfo& info : part.graph->tables().buffers) {
    part.buffers.emplace_back();  // before its memory is taken, which is given back with the row
    part.buffers.back() = buffer_of(part, info, memory);
  }
}

void give_back(PartBuffer& buffer, MemoryPools& memory) {
  if (buffer.taken == 0) return;
  memory.of(buffer.memory, buffer.mappable).give_back(buffer.data, std::exchange(buffer.taken, 0));
}

void give_back_memory(ActivePart& part, MemoryPools& memory) {
  for (PartBuffer& buffer : part.buffers) give_back(buffer, memory);
}

bool lacks_array(const Graph& graph, const MethodState& state) {
  const auto& buffers = graph.tables().buffers;
  return std::any_of(buffers.begin(), buffers.end(),
                     [&](const BufferInfo& info) { return info.role == Role::State && !state.find(info.name); });
}

void make_arrays(const ActivePart& part, const MemoryPools& memory) {
  for (const BufferInfo& info : part.graph->tables().buffers) {
    if (info.role == Role::State) array_of(part, info, memory);
  }
}

Extent resolve(const ActivePart& part, const Region& region) {
  if (region.is_signal()) return {};
  const PartBuffer& buffer = part.buffer(region);
  Range range{0, buffer.length};
  if (region.is_counted()) {
    range = counted_range(part, region);
  } else if (has_blocks(part.run->call.collective) && part.graph->buffer(region).is_like_data()) {
    range = range_in_blocks(part, region, part.graph->buffer(region));
  } else if (region.of != 1) {
    const Region there = placed(*part.graph, region, part.position);
    const std::size_t begin = boundary(there.begin, buffer.length, there.of);
    range = {region.at_start ? 0 : begin, boundary(there.end, buffer.length, there.of) - begin};
  }
  std::byte* const begin = buffer.data ? buffer.data + range.begin * size_of(buffer.dtype) : nullptr;  // if it is empty
  return {begin, range.count, buffer.dtype, buffer.reduction, buffer.memory};
}

namespace {

/// How the step scales the final value of a sum whose terms are scaled only then.
Scale scale_of_final(const ActivePart& part, const Step& step) {
  const Reduction reduction = part.run->call.reduction;
  const Rank all = part.order.size();
  if (step.contributors == 0) return {};
  if (step.contributors == all) return scale_of_all(reduction, all);
  return scale_of(
      collective_of(part).method,
      {.part = *part.plan, .reduction = reduction, .terms = step.contributors, .all = all, .note = step.note});
}

}  // namespace

SumScale scale_of(const ActivePart& part, const Step& step) {
  const Scale final = scale_of_final(part, step);
  const double factor = factor_of_terms(part.buffer(step.from).reduction, part.order.size());
  if (step.kind == StepKind::Copy && step.from_is_term) return {.sum = final};
  return {.first = step.from_is_term ? factor : 1,
          .second = step.brings_term || step.meets() ? factor : 1,
          .sum = step.contributors == 0 ? final : rest_of(final, factor)};
}

std::uint32_t digest_after(std::uint32_t digest, const PartPlan& next) {
  const std::uint64_t both = Digest().add(digest).add(digest_of(next)).value();
  return static_cast<std::uint32_t>(both ^ both >> 32);
}

/// In a call with tables, the sender says the length if the caller gives a place for the lengths that were received.
bool is_open(const ActivePart& part, const Step& step) {
  return step.carries && (lands(part, step) || !part.run->call.output_blocks.received.empty());
}

void note_length(ActivePart& part, const Step& step, std::size_t count) {
  part.values[static_cast<std::size_t>(step.length)] = count;
  const Blocks& blocks = part.run->call.output_blocks;
  if (!lands(part, step) && !blocks.received.empty()) blocks.received[rank_of_piece(part, step.to)] = count;
}

}  // namespace lacuna::runtime
