#include "tests/support/collective_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "algorithms/registry/registry.hpp"
#include "tests/support/skip_call.hpp"
#include "tests/support/skip_definition.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte pattern{0xa5};

const CollectiveTraits& traits_of(const Case& what) { return lacuna::traits_of(what.algorithm->collective); }
bool reads(const Case& what, Rank rank) { return reads_input(what.algorithm->collective, rank, what.root); }
bool writes(const Case& what, Rank rank) { return writes_output(what.algorithm->collective, rank, what.root); }

/// Is the case in place on this rank? Only a rank with both buffers can be in place.
bool shares_memory(const Case& what, Rank rank) {
  return what.in_place(rank) && reads(what, rank) && writes(what, rank);
}

/// Do the receivers of this case leave the lengths to the senders?
bool leaves_lengths(const Case& what) {
  return what.told && traits_of(what).lengths == Lengths::Told && traits_of(what).output == Holds::Blocks;
}

/// A part of a case whose blocks, or data, have `count` elements.
struct PartOfCase {
  std::size_t begin, end;
  std::vector<Rank> order;
};

std::vector<PartOfCase> parts_of(const Case& what, std::size_t chunk_bytes) {
  std::vector<PartOfCase> all;
  const std::size_t parts = expected_parts(what.algorithm->collective, what.bytes(), what.size, chunk_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    all.push_back({exact_boundary(part, what.count, parts), exact_boundary(part + 1, what.count, parts),
                   skip_order(what, static_cast<std::uint32_t>(part))});
  }
  return all;
}

Rank position_of(const std::vector<Rank>& order, Rank rank) {
  return static_cast<Rank>(std::find(order.begin(), order.end(), rank) - order.begin());
}

void write_skipped_allreduce(const Case& what, const Oracle& oracle, std::size_t chunk_bytes, std::byte* to) {
  const std::size_t width = size_of(what.dtype);
  for (const PartOfCase& part : parts_of(what, chunk_bytes)) {
    const auto cells = static_cast<std::size_t>(skip_cells(what, part.order));
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const std::vector<Rank> without = left_out(what, part.order, static_cast<Rank>(cell));
      const std::size_t end = part.begin + exact_boundary(cell + 1, part.end - part.begin, cells);
      for (std::size_t i = part.begin + exact_boundary(cell, part.end - part.begin, cells); i < end; ++i) {
        oracle.write_sum_without(without, i, to + i * width);
      }
    }
  }
}

/// The own block of a reduce_scatter, which begins at element `block` of the inputs.
void write_skipped_block(const Case& what, Rank rank, const Oracle& oracle, std::size_t block, std::size_t chunk_bytes,
                         std::byte* to) {
  for (const PartOfCase& part : parts_of(what, chunk_bytes)) {
    const std::vector<Rank> without = left_out(what, part.order, position_of(part.order, rank));
    for (std::size_t i = part.begin; i < part.end; ++i) {
      oracle.write_sum_without(without, block + i, to + i * size_of(what.dtype));
    }
  }
}

/// The block of `source`, or zeros if it does not reach this rank.
void clear_skipped_block(const Case& what, Rank rank, Rank source, std::size_t chunk_bytes, std::byte* block) {
  const std::size_t width = size_of(what.dtype);
  for (const PartOfCase& part : parts_of(what, chunk_bytes)) {
    const std::vector<Rank> without = left_out(what, part.order, position_of(part.order, source));
    if (std::find(without.begin(), without.end(), rank) == without.end()) continue;
    std::fill(block + part.begin * width, block + part.end * width, std::byte{0});
  }
}

}  // namespace

std::size_t Case::block(Rank from, Rank to) const {
  if (!has_tables()) return count;
  // In place, the block from i to j has the length of the block from j to i.
  const bool exchanges = algorithm->collective == Collective::Alltoallv;
  const Rank turned = placement == Placement::OutOfPlace ? 2 * to : to;
  const auto i = static_cast<std::size_t>((exchanges ? from + turned : from) % size);
  const auto p = static_cast<std::size_t>(size);
  switch (shape) {
    case Shape::Packed:
    case Shape::Spread:
      return (count + 5 * i) % (count + 1);
    case Shape::OneRank:
      return i == count % p ? (exchanges ? count : count * p) : 0;
    case Shape::EverySecond:
      return i % 2 == 0 ? 0 : count;
  }
  return 0;
}

std::size_t oracle_elements(std::size_t count, Rank size) {
  constexpr std::size_t longest_gaps = 8;
  return (count + longest_gaps) * static_cast<std::size_t>(size);
}

std::string to_string(const Case& what) {
  constexpr const char* placements[] = {"out of place", "in place", "mixed"};
  return fmt::format("{} {} P={} count={} {} {} {} misalignment={} skip={} {} root={} draw={} hosts={} shape={}{}",
                     to_string(what.algorithm->collective), what.algorithm->name, what.size, what.count,
                     to_string(what.dtype), to_string(what.reduction), placements[static_cast<int>(what.placement)],
                     what.misalignment, what.skip, to_string(what.mode), what.root, what.sampler.draw,
                     fmt::join(what.hosts, ","), static_cast<int>(what.shape), what.told ? " told" : "");
}

std::vector<std::vector<Rank>> host_layouts(Rank size) {
  std::vector<std::vector<Rank>> layouts;
  const auto add = [&](auto host_of) {
    std::vector<Rank> hosts;
    for (Rank rank = 0; rank < size; ++rank) hosts.push_back(host_of(rank));
    const bool several = std::count(hosts.begin(), hosts.end(), hosts[0]) < size;
    if (several && std::find(layouts.begin(), layouts.end(), hosts) == layouts.end()) layouts.push_back(hosts);
  };
  add([&](Rank rank) { return 2 * rank / size; });
  add([](Rank rank) { return rank / 2; });
  add([](Rank rank) { return (rank + 1) % 2; });
  add([](Rank rank) { return rank % 4 == 3 ? 1 : 0; });
  add([](Rank rank) { return rank % 8 < 5 ? 0 : rank % 8 < 7 ? 1 : 2; });
  add([](Rank rank) { return rank; });
  return layouts;
}

MethodOptions method_of(const Case& what) {
  if (what.skip == 0) return {};
  return lacuna::skip({.steps = what.skip, .mode = what.mode, .incomplete = true});
}

bool is_offered(const Case& what) {
  if (!takes(what.algorithm->collective, what.dtype, what.reduction)) return false;
  Call call;
  call.collective = what.algorithm->collective;
  call.count = what.count;
  call.dtype = what.dtype;
  call.reduction = what.reduction;
  call.root = what.root;
  call.options.algorithm = what.algorithm->name;
  call.options.method = method_of(what);
  return select_algorithm(call, (what.hosts.empty() ? Hosts(what.size) : Hosts(what.hosts)).with_board()).is_ok();
}

Case offered(Case what) {
  what.root %= what.size;
  what.skip %= what.size;
  if (!moves_data(what.algorithm->collective)) what.count = 0;
  if (!what.has_tables()) what.shape = Shape::Packed;
  what.told = leaves_lengths(what);
  if (!is_offered(what)) what.skip = 0;
  if (!is_offered(what)) what.reduction = reductions_of(what.dtype).front();
  return what;
}

std::byte* RankBuffers::Guarded::prepare(std::size_t length, std::size_t misalignment) {
  memory.assign(length + 2 * guard_bytes + misalignment, pattern);
  data = memory.data() + guard_bytes + misalignment;
  bytes = length;
  return data;
}

bool RankBuffers::Guarded::guards_hold() const {
  if (memory.empty()) return true;
  const auto holds = [](std::byte value) { return value == pattern; };
  return std::all_of(memory.data(), static_cast<const std::byte*>(data), holds) &&
         std::all_of(static_cast<const std::byte*>(data) + bytes, memory.data() + memory.size(), holds);
}

RankBuffers::Table RankBuffers::table_of(const Case& what, Rank rank, bool input) const {
  const bool exchanges = traits_of(what).input == traits_of(what).output;
  const bool leaves = !input && leaves_lengths(what);
  // Blocks that are reduced lie at the same places of all inputs, so that the oracle can reduce whole inputs.
  const std::size_t gap =
      what.shape == Shape::Packed ? 0 : 1 + (traits_of(what).reduces ? 1 : static_cast<std::size_t>(rank) % 3);
  Table table;
  std::size_t next = gap;
  for (Rank other = 0; other < what.size; ++other) {
    const std::size_t length = exchanges && input ? what.block(rank, other) : what.block(other, rank);
    const std::size_t slack = leaves && !(exchanges && what.in_place(rank)) ? static_cast<std::size_t>(other) % 3 : 0;
    table.counts.push_back(length + slack);
    table.offsets.push_back(next);
    next += length + slack + gap;
  }
  if (leaves) table.received.assign(table.counts.size(), ~std::size_t{0});
  return table;
}

void RankBuffers::give_tables(const Case& what, Rank rank) {
  call_.input_blocks = call_.output_blocks = {};
  if (!what.has_tables()) return;
  const bool packed = what.shape == Shape::Packed;
  const auto give = [&](Table& table, Blocks& blocks) {
    blocks = {.counts = table.counts, .offsets = {}, .received = table.received};
    if (!packed) blocks.offsets = table.offsets;
  };
  if (traits_of(what).input == Holds::Blocks && reads(what, rank)) give(in_, call_.input_blocks);
  if (traits_of(what).output == Holds::Blocks && writes(what, rank)) give(out_, call_.output_blocks);
  call_.count = traits_of(what).input == traits_of(what).output ? 0 : what.block(rank, rank);
}

Call RankBuffers::prepare(const Case& what, Rank rank, const Oracle& oracle, Sampler& sampler) {
  call_ = {.collective = what.algorithm->collective,
           .count = what.count,
           .dtype = what.dtype,
           .reduction = what.reduction,
           .root = what.root};
  if (what.reduction == Reduction::Own) call_.own = sum_of_bytes(what.dtype);
  call_.options.algorithm = what.algorithm->name;
  call_.options.method = method_of(what);
  call_.options.sampler = &sampler;
  sampler = what.sampler;
  size_ = what.size;
  in_ = table_of(what, rank, true);
  out_ = table_of(what, rank, false);
  give_tables(what, rank);

  input_.memory.clear();
  output_.memory.clear();
  if (!moves_data(call_.collective)) return call_;
  std::byte* input = nullptr;
  if (shares_memory(what, rank)) {
    const InPlace offsets = in_place_offsets(call_, rank);
    const std::size_t width = size_of(what.dtype);
    std::byte* base = output_.prepare(std::max(input_bytes(), output_bytes()), what.misalignment);
    call_.output = base + offsets.output * width;
    call_.input = input = base + offsets.input * width;
  } else {
    call_.output = output_.prepare(output_bytes(), what.misalignment);
    call_.input = input = input_.prepare(input_bytes(), what.misalignment);
  }
  if (reads(what, rank)) std::copy_n(oracle.input(rank), input_bytes(), input);
  // What is not needed is null on some ranks.
  const bool may_be_null = rank % 2 == 1 || what.count == 0;
  if (may_be_null && (!reads(what, rank) || input_bytes() == 0)) call_.input = nullptr;
  if (may_be_null && (!writes(what, rank) || output_bytes() == 0)) call_.output = nullptr;
  return call_;
}

/// Writes expected_. Elements that the call does not write keep their values.
void RankBuffers::write_expected(const Case& what, Rank rank, const Oracle& oracle, std::size_t chunk_bytes) {
  const std::size_t width = size_of(what.dtype);
  expected_.assign(output_bytes(), pattern);
  if (shares_memory(what, rank)) {
    const std::size_t at = in_place_offsets(call_, rank).input * width;
    std::copy_n(oracle.input(rank), std::min(input_bytes(), expected_.size() - at), expected_.begin() + at);
  }
  if (!writes(what, rank)) return;
  const auto put = [&](std::size_t at, const std::byte* from, std::size_t first, std::size_t count) {
    std::copy_n(from + first * width, count * width, expected_.begin() + at * width);
  };
  const auto put_prefix = [&](Rank of) {
    for (std::size_t i = 0; of > 0 && i < what.count; ++i) oracle.write_prefix(of, i, expected_.data() + i * width);
  };
  const auto own = static_cast<std::size_t>(rank);
  switch (what.algorithm->collective) {
    case Collective::Allreduce:
      if (what.skip > 0) return write_skipped_allreduce(what, oracle, chunk_bytes, expected_.data());
      [[fallthrough]];
    case Collective::Reduce:
      return put(0, oracle.reduced(), 0, what.count);
    case Collective::ReduceScatter:
      if (what.skip > 0) {
        return write_skipped_block(what, rank, oracle, in_.offsets[own], chunk_bytes, expected_.data());
      }
      [[fallthrough]];
    case Collective::ReduceScatterv:
      return put(0, oracle.reduced(), in_.offsets[own], in_.counts[own]);
    case Collective::Allgather:
    case Collective::Allgatherv:
    case Collective::Gather:
    case Collective::Gatherv:
      for (Rank source = 0; source < what.size; ++source) {
        const std::size_t begin = out_.offsets[static_cast<std::size_t>(source)];
        put(begin, oracle.input(source), 0, what.block(source, rank));
        if (what.skip > 0) clear_skipped_block(what, rank, source, chunk_bytes, expected_.data() + begin * width);
      }
      return;
    case Collective::Alltoall:
    case Collective::Alltoallv:
      for (Rank source = 0; source < what.size; ++source) {
        const std::size_t there = table_of(what, source, true).offsets[own];
        put(out_.offsets[static_cast<std::size_t>(source)], oracle.input(source), there, what.block(source, rank));
      }
      return;
    case Collective::Broadcast:
      return put(0, oracle.input(what.root), 0, what.count);
    case Collective::Scatter:
    case Collective::Scatterv:
      return put(0, oracle.input(what.root), table_of(what, what.root, true).offsets[own], what.block(rank, rank));
    case Collective::Scan:
      return put_prefix(rank + 1);
    case Collective::ExclusiveScan:
      return put_prefix(rank);
    case Collective::Barrier:
      return;
  }
}

std::string RankBuffers::check(const Case& what, Rank rank, const Oracle& oracle, std::size_t chunk_bytes) {
  if (!moves_data(what.algorithm->collective)) return {};
  write_expected(what, rank, oracle, chunk_bytes);
  const std::size_t at = shares_memory(what, rank) ? in_place_offsets(call_, rank).output * size_of(what.dtype) : 0;
  const std::byte* result = output_.data + at;
  const auto [wrong, right] = std::mismatch(result, result + expected_.size(), expected_.begin());
  if (wrong != result + expected_.size()) {
    return fmt::format("rank {}: element {} is wrong (byte {:#04x}, should be {:#04x})", rank,
                       static_cast<std::size_t>(wrong - result) / size_of(what.dtype), std::to_integer<int>(*wrong),
                       std::to_integer<int>(*right));
  }
  if (!output_.guards_hold() || !input_.guards_hold()) return fmt::format("rank {}: wrote outside its buffers", rank);
  if (reads(what, rank) && !shares_memory(what, rank) && input_.bytes > 0 &&
      std::memcmp(input_.data, oracle.input(rank), input_.bytes) != 0) {
    return fmt::format("rank {}: the input has changed", rank);
  }
  for (Rank source = 0; source < what.size && !call_.output_blocks.received.empty(); ++source) {
    const std::size_t received = out_.received[static_cast<std::size_t>(source)];
    if (received == what.block(source, rank)) continue;
    return fmt::format("rank {}: {} elements were received from rank {}, should be {}", rank, received, source,
                       what.block(source, rank));
  }
  return {};
}

}  // namespace lacuna::test
