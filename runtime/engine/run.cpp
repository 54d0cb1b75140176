#include "runtime/engine/run.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/communicator/communicator.hpp"

namespace lacuna::runtime {
namespace {

/// Where there are blocks, a part takes the same range of each; piece i is the block of the rank at position i. A
/// buffer that holds data instead is the own block.
bool holds_blocks(Collective collective, Buffer buffer) {
  const CollectiveTraits& traits = traits_of(collective);
  return (buffer == Buffer::Output ? traits.output : traits.input) == Holds::Blocks;
}

std::byte* base_of(const Run& run, Buffer buffer) {
  if (buffer == Buffer::Residual) return run.residual;
  const void* base = buffer == Buffer::Input ? run.call.input : run.call.output;
  return static_cast<std::byte*>(const_cast<void*>(base));  // inputs are only read: the builder never writes to one
}

std::size_t rank_of_piece(const ActivePart& part, const Region& region) {
  const Region there = placed(*part.graph, region, part.position);
  return static_cast<std::size_t>(part.order.rank_of(static_cast<Rank>(there.begin)));
}

/// A part's share of a block whose length a table gives. A scratch block is as long as that of the buffer with blocks.
Extent resolve_in_table(const ActivePart& part, const Region& region) {
  const Run& run = *part.run;
  const std::size_t width = size_of(run.call.dtype);
  const bool scratch = region.buffer == Buffer::Scratch;
  const bool input = scratch ? holds_blocks(run.call.collective, Buffer::Input) : region.buffer != Buffer::Output;
  std::size_t block = 0, length = run.call.count;
  const Blocks& blocks = input ? run.call.input_blocks : run.call.output_blocks;
  if (!blocks.counts.empty() && (scratch || holds_blocks(run.call.collective, region.buffer))) {
    const std::size_t rank = rank_of_piece(part, region);
    block = blocks.offsets[rank];
    length = blocks.counts[rank];
  }
  const std::size_t begin = boundary(part.number, length, run.parts);
  const std::size_t count = boundary(part.number + 1, length, run.parts) - begin;
  if (scratch) return {part.scratch + region.slot * part.count * width, count};
  return {base_of(run, region.buffer) + (block + begin) * width, count};
}

}  // namespace

void cut(ActivePart& part) {
  const Run& run = *part.run;
  if (has_tables(run.call.collective)) {
    const std::size_t longest =
        std::max({longest_of(run.call.input_blocks), longest_of(run.call.output_blocks), run.call.count});
    part.offset = 0;
    part.count = (longest + run.parts - 1) / run.parts;
    return;
  }
  const Stretch& data = run.plan.parts[part.number].data;
  part.offset = data.offset;
  part.count = data.count;
}

std::size_t* told_length(const ActivePart& part, const Region& region) {
  const Blocks& blocks = part.run->call.output_blocks;
  if (blocks.received.empty() || region.buffer != Buffer::Output) return nullptr;
  return &blocks.received[rank_of_piece(part, region)];
}

Extent resolve(const ActivePart& part, const Region& region) {
  if (region.is_signal()) return {};
  const Call& call = part.run->call;
  const std::size_t width = size_of(call.dtype);
  if (has_blocks(call.collective)) {
    if (has_tables(call.collective)) return resolve_in_table(part, region);
    if (region.buffer == Buffer::Scratch) return {part.scratch + region.slot * part.count * width, part.count};
    const std::size_t block =
        holds_blocks(call.collective, region.buffer) ? rank_of_piece(part, region) * call.count : 0;
    return {base_of(*part.run, region.buffer) + (block + part.offset) * width, part.count};
  }
  std::size_t begin = 0, end = part.count;
  if (region.of != 1) {
    const Region there = placed(*part.graph, region, part.position);
    begin = boundary(there.begin, part.count, there.of);
    end = boundary(there.end, part.count, there.of);
  }
  if (region.buffer == Buffer::Scratch) return {part.scratch + region.slot * part.count * width, end - begin};
  if (part.packed) return {part.packed + begin * width, end - begin};
  return {base_of(*part.run, region.buffer) + (part.offset + begin) * width, end - begin};
}

Scale scale_of(const ActivePart& part, const Step& step) {
  if (step.contributors == 0) return {};
  const Run& run = *part.run;
  const Missing& missing = run.plan.parts[part.number].missing;
  const double all = run.communicator->size(), there = step.contributors;
  const bool averages = run.call.reduction == Reduction::Avg;
  switch (there == all ? Missing::Rule::Zeros : missing.rule) {
    case Missing::Rule::Zeros:
      break;
    case Missing::Rule::Renormalised:
      if (missing.drawn && step.chance.of > 0) {
        const double chance = step.chance.there;
        return {.multiplier = static_cast<double>(step.chance.of), .divisor = averages ? chance * all : chance};
      }
      return averages ? Scale{.divisor = there} : Scale{.multiplier = all, .divisor = there};
    case Missing::Rule::Factor:
      return {.multiplier = missing.factor};
  }
  return averages ? Scale{.divisor = all} : Scale{};
}

Structure structure_of(const Run& run, std::uint32_t part) {
  Structure structure = run.plan.parts[part].structure;
  structure.in_place = run.in_place || is_packed(run, part);
  return structure;
}

void take_sample(Run& run) {
  const std::size_t width = size_of(run.call.dtype);
  run.sample.resize(run.plan.sample * width);
  const auto* input = static_cast<const std::byte*>(run.call.input);
  for (std::size_t i = 0; i < run.plan.sample; ++i) {
    std::memcpy(run.sample.data() + i * width, input + boundary(i, run.call.count, run.plan.sample) * width, width);
  }
}

namespace {

/// Visits the stretches of a packed part: the caller's bytes and those of the packed memory.
template <class Visit>
void each_packed(const ActivePart& part, Buffer buffer, Visit visit) {
  const Run& run = *part.run;
  const PartPlan& plan = run.plan.parts[part.number];
  const std::size_t width = size_of(run.call.dtype);
  std::byte* there = part.packed;
  for (std::uint32_t i = 0; i < plan.packed; ++i) {
    const Stretch& stretch = run.plan.packed[plan.first_packed + i];
    visit(base_of(run, buffer) + stretch.offset * width, there, stretch.count * width);
    there += stretch.count * width;
  }
}

}  // namespace

void pack(ActivePart& part) {
  const Run& run = *part.run;
  if (run.plan.parts[part.number].is_sample) {
    std::memcpy(part.packed, run.sample.data(), run.sample.size());
    return;
  }
  each_packed(part, Buffer::Input,
              [](const std::byte* user, std::byte* packed, std::size_t bytes) { std::memcpy(packed, user, bytes); });
}

void unpack(const ActivePart& part) {
  Run& run = *part.run;
  if (run.plan.parts[part.number].is_sample) {
    std::memcpy(run.sample.data(), part.packed, run.sample.size());
    return;
  }
  each_packed(part, Buffer::Output,
              [](std::byte* user, const std::byte* packed, std::size_t bytes) { std::memcpy(user, packed, bytes); });
}

}  // namespace lacuna::runtime
