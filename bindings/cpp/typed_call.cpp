#include "bindings/cpp/typed_call.hpp"

#include <fmt/format.h>

#include "bindings/cpp/lacuna.hpp"
#include "runtime/job/job.hpp"
#include "runtime/values/count_of.hpp"

// How the buffers of a TypedCall become those of its Call.
namespace lacuna {
namespace {

/// A call in place has one buffer. This makes the smaller of its two sides the block `rank` of that buffer.
void place_in_one_buffer(TypedCall& typed, Rank rank, Rank size) {
  Call& call = typed.call;
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.input == traits.output) return;
  const bool blocks_come_in = traits.input == Holds::Blocks;
  const Blocks& blocks = blocks_come_in ? call.input_blocks : call.output_blocks;
  const auto own = static_cast<std::size_t>(rank);
  if (has_tables(call.collective) && own >= blocks.counts.size()) return;  // the communicator refuses such a table
  std::size_t& smaller = blocks_come_in ? typed.output : typed.input;
  smaller = has_tables(call.collective) ? blocks.counts[own] : smaller / static_cast<std::size_t>(size);
  call.count = smaller;
  const InPlace offsets = in_place_offsets(call, rank);
  call.input = static_cast<const std::byte*>(call.input) + offsets.input * size_of(call.dtype);
  call.output = static_cast<std::byte*>(call.output) + offsets.output * size_of(call.dtype);
}

/// Returns Ok if both buffers of a call lie in one memory.
Status check_alike(const Memory& input, const Memory& output) {
  if (input.kind != output.kind) {
    return {Code::InvalidArgument, fmt::format("the input lies in {} memory, the output in {} memory; they must lie in "
                                               "one kind",
                                               to_string(input.kind), to_string(output.kind))};
  }
  if (are_alike(input, output)) return {};
  return {Code::InvalidArgument,
          fmt::format("the input lies on device {}, ready after stream {}; the output on device {}, ready after stream "
                      "{}; both must be the same",
                      input.device, input.stream, output.device, output.stream)};
}

}  // namespace

/// Fills in the count and the memory of the call. An error says why its buffers do not fit together.
Status Communicator::complete(TypedCall& typed) const {
  Call& call = typed.call;
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool reads = reads_input(call.collective, rank(), call.root);
  const bool writes = writes_output(call.collective, rank(), call.root);
  const auto ranks = static_cast<std::size_t>(size());
  if (typed.in_place && reads && writes) place_in_one_buffer(typed, rank(), size());
  call.count = traits.lengths == Lengths::Equal ? (writes ? typed.output : typed.input) / ranks : 0;
  if (reads && traits.input == Holds::Data) call.count = typed.input;
  if (writes && traits.output == Holds::Data) call.count = typed.output;
  const auto check = [&](const char* name, Holds holds, std::size_t given, std::size_t needed) -> Status {
    const bool tables = holds == Holds::Blocks && traits.lengths != Lengths::Equal;
    if (tables ? given >= needed : given == needed) return {};
    return {Code::InvalidArgument, fmt::format("{}: the {} has {}, must have {}{}", traits.name, name,
                                               count_of(given, "element"), needed, tables ? " or more" : "")};
  };
  if (reads && writes) {
    if (Status alike = check_alike(call.memory, typed.output_memory); !alike) return alike;
  } else if (writes) {
    call.memory = typed.output_memory;
  }
  Status fits = reads ? check("input", traits.input, typed.input, input_length(call, size())) : Status();
  if (fits && writes) fits = check("output", traits.output, typed.output, output_length(call, size()));
  return fits;
}

}  // namespace lacuna
