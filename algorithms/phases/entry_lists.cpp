#include "algorithms/phases/entry_lists.hpp"

#include "algorithms/phases/sparse.hpp"

namespace lacuna::sparse {
namespace {

/// Of no elements it is nowhere: the address may be in a memory that kernels do not reach.
Extent memory_of(const void* data, std::size_t count, Dtype dtype) {
  if (count == 0) data = nullptr;
  return {static_cast<std::byte*>(const_cast<void*>(data)), count, dtype};  // the caller's memory is only read
}

Extent places_brought(const PartView& part) {
  return memory_of(part.call.input_entries.places, part.call.input_entries.count, Dtype::I32);
}

Extent values_brought(const PartView& part) {
  if (!brings_list(part)) return memory_of(nullptr, 0, part.call.dtype);
  const InputEntries& given = part.call.input_entries;
  return memory_of(part.call.input, given.count * given.length, part.call.dtype);
}

Extent places_of_result(const PartView& part) {
  return memory_of(part.call.output_entries.places, part.call.output_entries.room, Dtype::I32);
}

Extent values_of_result(const PartView& part) {
  const OutputEntries& asked = part.call.output_entries;
  return memory_of(part.call.output, asked.room * asked.length, part.call.dtype);
}

Extent count_of_result(const PartView& part) {
  static_assert(sizeof(*part.call.output_entries.count) == sizeof(std::int64_t));
  return memory_of(part.call.output_entries.count, 1, Dtype::I64);
}

}  // namespace

Extent elements_brought(const PartView& part) {
  const Call& call = part.call;
  if (brings_list(part)) return memory_of(nullptr, 0, call.dtype);
  const auto* data = static_cast<const std::byte*>(call.input);
  if (traits_of(call.collective).input == Holds::Blocks) return memory_of(data, places_of(part), call.dtype);
  return memory_of(data + part.part.data.offset * size_of(call.dtype), part.count, call.dtype);
}

ReadInputEntries input_entries(GraphBuilder& g) {
  return {.places = g.buffer(
              {.role = Role::Caller, .element = Dtype::I32, .locate = places_brought, .name = "places of input"}),
          .values = g.buffer({.role = Role::Caller, .locate = values_brought, .name = "values of input"})};
}

OutputList output_list(GraphBuilder& g) {
  g.locate(Buffer::Output, values_of_result);
  return {.places = g.buffer(
              {.role = Role::Caller, .element = Dtype::I32, .locate = places_of_result, .name = "places of output"}),
          .values = GraphBuilder::all_of(Buffer::Output),
          .count = g.buffer({.role = Role::Caller,
                             .element = Dtype::I64,
                             .locate = count_of_result,
                             .name = "count of output",
                             .memory = MemoryKind::Host})};
}

}  // namespace lacuna::sparse
