#include "tests/support/collective_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "algorithms/registry.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte pattern{0xa5};

const CollectiveTraits& traits_of(const Case& what) { return lacuna::traits_of(what.algorithm->collective); }
std::size_t ranks(const Case& what) { return static_cast<std::size_t>(what.size); }
std::size_t input_bytes(const Case& what) { return length_of(traits_of(what).input, what.bytes(), what.size); }
std::size_t output_bytes(const Case& what) { return length_of(traits_of(what).output, what.bytes(), what.size); }
bool reads(const Case& what, Rank rank) { return reads_input(what.algorithm->collective, rank, what.root); }
bool writes(const Case& what, Rank rank) { return writes_output(what.algorithm->collective, rank, what.root); }

InPlace offsets(const Case& what, Rank rank) {
  return in_place_offsets(what.algorithm->collective, what.bytes(), rank);
}

/// In place, if this rank has both buffers.
bool shares_memory(const Case& what, Rank rank) {
  return what.in_place(rank) && reads(what, rank) && writes(what, rank);
}

/// All elements of an allreduce in which each piece lacks the ranks that follow its owner.
void write_skipped(const Case& what, const Oracle& oracle, std::size_t chunk_bytes, std::byte* to) {
  const std::size_t p = ranks(what), width = size_of(what.dtype);
  const std::size_t parts = expected_parts(Collective::Allreduce, what.bytes(), what.size, chunk_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = exact_boundary(part, what.count, parts);
    const std::size_t length = exact_boundary(part + 1, what.count, parts) - begin;
    const Rank turn = ring_turn(what, static_cast<std::uint32_t>(part));
    for (std::size_t piece = 0; piece < p; ++piece) {
      const Rank owner = (static_cast<Rank>(piece) + turn) % what.size;
      std::vector<Rank> left_out;
      for (int k = 1; k <= what.skip; ++k) left_out.push_back((owner + k) % what.size);
      const std::size_t end = begin + exact_boundary(piece + 1, length, p);
      for (std::size_t i = begin + exact_boundary(piece, length, p); i < end; ++i) {
        oracle.write_sum_without(left_out, i, to + i * width);
      }
    }
  }
}

/// What an output holds that the call does not write.
void write_untouched(const Case& what, Rank rank, const Oracle& oracle, std::vector<std::byte>& to) {
  to.assign(output_bytes(what), pattern);
  if (shares_memory(what, rank)) std::copy_n(oracle.input(rank), to.size(), to.begin());
}

void write_expected(const Case& what, Rank rank, const Oracle& oracle, std::size_t chunk_bytes,
                    std::vector<std::byte>& to) {
  write_untouched(what, rank, oracle, to);
  if (!writes(what, rank)) return;
  const std::size_t bytes = what.bytes();
  const auto put_prefix = [&](Rank of) {
    for (std::size_t i = 0; of > 0 && i < what.count; ++i) {
      oracle.write_prefix(of, i, to.data() + i * size_of(what.dtype));
    }
  };
  const auto put = [&](std::size_t at, const std::byte* from) { std::copy_n(from, bytes, to.begin() + at); };
  const std::size_t own = static_cast<std::size_t>(rank) * bytes;
  switch (what.algorithm->collective) {
    case Collective::Allreduce:
      return what.skip == 0 ? put(0, oracle.reduced()) : write_skipped(what, oracle, chunk_bytes, to.data());
    case Collective::ReduceScatter:
      return put(0, oracle.reduced() + own);
    case Collective::Reduce:
      return put(0, oracle.reduced());
    case Collective::Allgather:
    case Collective::Gather:
      for (Rank source = 0; source < what.size; ++source) {
        put(static_cast<std::size_t>(source) * bytes, oracle.input(source));
      }
      return;
    case Collective::Alltoall:
      for (Rank source = 0; source < what.size; ++source) {
        put(static_cast<std::size_t>(source) * bytes, oracle.input(source) + own);
      }
      return;
    case Collective::Broadcast:
      return put(0, oracle.input(what.root));
    case Collective::Scatter:
      return put(0, oracle.input(what.root) + own);
    case Collective::Scan:
      return put_prefix(rank + 1);
    case Collective::ExclusiveScan:
      return put_prefix(rank);
    case Collective::Barrier:
      return;
  }
}

}  // namespace

std::string to_string(const Case& what) {
  constexpr const char* placements[] = {"out of place", "in place", "mixed"};
  return fmt::format("{} {} P={} count={} {} {} {} misalignment={} skip={} {} root={} draw={} hosts={}",
                     to_string(what.algorithm->collective), what.algorithm->name, what.size, what.count,
                     to_string(what.dtype), to_string(what.reduction), placements[static_cast<int>(what.placement)],
                     what.misalignment, what.skip, to_string(what.mode), what.root, what.sampler.draw,
                     fmt::join(what.hosts, ","));
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

bool is_offered(const Case& what) {
  if (!takes(what.algorithm->collective, what.dtype, what.reduction)) return false;
  Call call;
  call.collective = what.algorithm->collective;
  call.count = what.count;
  call.dtype = what.dtype;
  call.reduction = what.reduction;
  call.root = what.root;
  call.options.algorithm = what.algorithm->name;
  call.options.skip_steps = what.skip;
  call.options.skip_mode = what.mode;
  return select_algorithm(call, what.size).is_ok();
}

Case offered(Case what) {
  what.root %= what.size;
  what.skip %= what.size;
  if (!moves_data(what.algorithm->collective)) what.count = 0;
  if (is_offered(what)) return what;
  if (what.skip > 0) {
    Case other = what;
    other.reduction = is_integer(what.dtype) ? Reduction::Sum : Reduction::Avg;
    if (is_offered(other)) return other;
    what.skip = 0;
  }
  if (!is_offered(what)) what.reduction = Reduction::Sum;
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

Call RankBuffers::prepare(const Case& what, Rank rank, const Oracle& oracle, Sampler& sampler) {
  const Collective collective = what.algorithm->collective;
  const std::size_t in_bytes = input_bytes(what), out_bytes = output_bytes(what);
  Call call;
  call.collective = collective;
  call.count = what.count;
  call.dtype = what.dtype;
  call.reduction = what.reduction;
  call.root = what.root;
  call.options.algorithm = what.algorithm->name;
  call.options.skip_steps = what.skip;
  call.options.skip_mode = what.mode;
  call.options.sampler = &sampler;
  sampler = what.sampler;

  input_.memory.clear();
  output_.memory.clear();
  if (!moves_data(collective)) return call;
  std::byte* input = nullptr;
  if (shares_memory(what, rank)) {
    std::byte* base = output_.prepare(std::max(in_bytes, out_bytes), what.misalignment);
    call.output = base + offsets(what, rank).output;
    call.input = input = base + offsets(what, rank).input;
  } else {
    call.output = output_.prepare(out_bytes, what.misalignment);
    call.input = input = input_.prepare(in_bytes, what.misalignment);
  }
  if (reads(what, rank)) std::copy_n(oracle.input(rank), in_bytes, input);
  if (!reads(what, rank) && rank % 2 == 1) call.input = nullptr;
  if (!writes(what, rank) && rank % 2 == 1) call.output = nullptr;
  return call;
}

std::string RankBuffers::check(const Case& what, Rank rank, const Oracle& oracle, std::size_t chunk_bytes) {
  if (!moves_data(what.algorithm->collective)) return {};
  write_expected(what, rank, oracle, chunk_bytes, expected_);
  const std::byte* result = output_.data + (shares_memory(what, rank) ? offsets(what, rank).output : 0);
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
  return {};
}

Rank ring_turn(const Case& what, std::uint32_t part) {
  if (what.mode == SkipMode::Static || what.skip == 0) return 0;
  return static_cast<Rank>(bounded_draw(what.sampler, part, static_cast<std::uint32_t>(what.size)));
}

}  // namespace lacuna::test
