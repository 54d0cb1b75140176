#include "runtime/engine/tables.hpp"

#include "runtime/values/digest.hpp"

namespace lacuna::runtime {
namespace {

/// Copies a table to the end of `tables`, which has room for it.
Blocks keep(const Blocks& blocks, std::vector<std::size_t>& tables) {
  const std::size_t size = blocks.counts.size(), first = tables.size();
  tables.insert(tables.end(), blocks.counts.begin(), blocks.counts.end());
  for (std::size_t i = 0, next = 0; i < size; next += blocks.counts[i++]) {
    tables.push_back(blocks.offsets.empty() ? next : blocks.offsets[i]);
  }
  const std::span<const std::size_t> kept(tables);
  return {
      .counts = kept.subspan(first, size), .offsets = kept.subspan(first + size, size), .received = blocks.received};
}

}  // namespace

void keep_tables(CollectiveRun& run, const Call& call, Rank rank) {
  run.tables.clear();
  run.call.input_blocks = run.call.output_blocks = {};
  if (!has_tables(call.collective)) return;
  const CollectiveTraits& traits = traits_of(call.collective);
  run.tables.reserve(2 * (call.input_blocks.counts.size() + call.output_blocks.counts.size()));
  if (traits.input == Holds::Blocks && reads_input(call.collective, rank, call.root)) {
    run.call.input_blocks = keep(call.input_blocks, run.tables);
  }
  if (traits.output == Holds::Blocks && writes_output(call.collective, rank, call.root)) {
    run.call.output_blocks = keep(call.output_blocks, run.tables);
  }
}

void tell_own_length(const CollectiveRun& run, Rank rank) {
  const Call& call = run.call;
  if (call.output_blocks.received.empty()) return;
  const auto own = static_cast<std::size_t>(rank);
  call.output_blocks.received[own] = call.input_blocks.counts.empty() ? call.count : call.input_blocks.counts[own];
}

AgreedLengths agreed_lengths(const Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.lengths == Lengths::Equal) return {call.count, call.count};
  if (traits.lengths == Lengths::Told) return {};
  const Blocks& blocks = traits.input == Holds::Blocks ? call.input_blocks : call.output_blocks;
  AgreedLengths agreed;
  Digest digest;
  for (std::size_t count : blocks.counts) {
    agreed.count += count;
    digest.add(count);
  }
  agreed.digest = digest.value();
  return agreed;
}

}  // namespace lacuna::runtime
