#include <algorithm>

#include "algorithms/ok_topk/state.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"

namespace lacuna::ok {
namespace {

using kernels::backend;
using sparse::List;

/// A third too few, or as many as there is room for, a third too many: the next run selects exactly.
void move_local(const KernelCall& call, const Extent& array, double taken) {
  Threshold threshold = threshold_in(array, call.part);
  const double wanted = static_cast<double>(entries_asked(call.part)),
               room = static_cast<double>(call.part.part.entries);
  const bool too_many = taken >= room && room < static_cast<double>(sparse::places_of(call.part));
  const bool too_few = 3 * taken < 2 * wanted && threshold.value() > 0;
  threshold.move(taken, options_of(call.part.call).gain);
  if (too_many || too_few) threshold.forget();
  threshold.store(array.data);
}

/// Four times as many, or a quarter: the next run makes both thresholds anew; of 0, which can't grow, a third more.
void move_global(const KernelCall& call, const Extent& array, double taken) {
  Threshold threshold = threshold_in(array, call.part);
  const double wanted = static_cast<double>(entries_asked(call.part));
  const bool is_zero = !(threshold.value() > 0);
  const bool too_many = is_zero ? 3 * taken > 4 * wanted : taken > 4 * wanted;
  const bool too_few = 4 * taken < wanted && !is_zero;
  threshold.move(taken, options_of(call.part.call).gain / 2);  // sums lie closer together
  if (too_many || too_few) threshold.forget();
  threshold.store(array.data);
}

/// Which of these places the result has; to a list.
std::uint64_t find_in_entries(std::span<const std::uint32_t> places, const OutputEntries& result,
                              std::uint32_t* found) {
  const std::uint32_t *const begin = result.places, *const end = begin + *result.count;
  std::uint32_t* next = found;
  for (std::uint32_t place : places) {
    if (std::binary_search(begin, end, place)) *next++ = place;
  }
  return static_cast<std::uint64_t>(next - found);
}

/// Where they stand in the writes of settle, behind the accumulator.
enum Room : std::size_t { local, global, found_places, found_values, result_values };

std::uint64_t find_in_result(const KernelCall& call, const List& mine, std::span<const Extent> rooms) {
  auto* const found = reinterpret_cast<std::uint32_t*>(rooms[found_places].data);
  const std::span<const std::uint32_t> places(mine.places, mine.count);
  if (sparse::has(call.part, sparse::listed)) {
    return find_in_entries(places, call.part.call.output_entries, found);
  }
  const Extent& output = call.reads[0];
  std::byte* const values = rooms[result_values].data;
  backend().gather(places, {output.dtype, output.data, output.count}, values);
  const List there{mine.places, values, mine.count, output.dtype};
  const kernels::Cut all_but_zeros;
  std::uint64_t taken = 0;
  backend().keep(there.all(), &all_but_zeros, {found, rooms[found_values].data, mine.count}, {output.dtype, nullptr, 0},
                 &taken);
  return taken;
}

/// given[0]: have thresholds been made anew? given[1]: have blocks been balanced?
Status settle_run(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::Measure::SelectSeconds);
  const sparse::Accumulator from(call, {});
  const std::span<const Extent> rooms = from.rest();
  const List mine{.places = reinterpret_cast<std::uint32_t*>(call.reads[1].data), .count = call.uses[0]};
  const std::uint64_t contributed = find_in_result(call, mine, rooms);
  from.clear_at({reinterpret_cast<const std::uint32_t*>(rooms[found_places].data), contributed},
                options_of(call.part.call).masking);
  call.counted.contributed += contributed;
  call.counted.kept += sparse::places_of(call.part) - contributed;
  report(call, Measure::LargestBlock, static_cast<double>(call.uses[2]));
  report(call, Measure::Balanced, static_cast<double>(call.given[1]));
  if (call.given[0]) return {};
  const double selected = static_cast<double>(call.uses[0]), total = static_cast<double>(call.uses[1]);
  move_local(call, rooms[local], selected);
  move_global(call, rooms[global], total);
  return {};
}

constexpr Kernel settle_kernel = {"settle", settle_run};

}  // namespace

void settle(GraphBuilder& g, const Reduced& reduced, const Sizes& sizes) {
  const sparse::Selection found = sparse::room_for_selection(g);
  const std::vector<Region> rooms = {threshold_room(g, local_threshold), threshold_room(g, global_threshold),
                                     found.places, found.values, g.buffer({.capacity = sparse::most_selected})};
  g.kernel(settle_kernel, {.reads = {g.output(), reduced.places},
                           .writes = sparse::joined(sparse::accumulator_rooms(g), rooms),
                           .uses = {reduced.count, sizes.total, sizes.largest},
                           .given = {has(g, reevaluates), stage_of(g) == Stage::Balance}});
}

}  // namespace lacuna::ok
