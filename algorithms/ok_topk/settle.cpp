#include <algorithm>

#include "algorithms/ok_topk/state.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"

namespace lacuna::ok {
namespace {

using kernels::backend;
using sparse::List;

/// The places of these rooms in the writes of settle, after the accumulator.
enum Room : std::size_t { threshold_array, found_places, found_values, result_values, workspace };

/// Moves the threshold for the next run. If this run has taken a third too few, or as many as there is room for, which
/// is a third too many, the next run makes the threshold anew.
void move_threshold(const KernelCall& call, const Extent& values, std::uint64_t contributed,
                    std::span<const Extent> rooms) {
  OwnThreshold threshold = threshold_in(rooms[threshold_array], call.part);
  const auto [wanted, room] = sparse::arguments_of(call.part);
  const std::uint64_t taken = call.uses[0];
  const bool exactly = call.given[0] != 0;
  const bool too_many = !exactly && taken >= room && room < sparse::places_of(call.part);
  const bool too_few = 3 * taken < 2 * wanted && threshold.value() > 0;
  const bool stays = !options_of(call.part.call).feedback;
  if (wanted < sparse::places_of(call.part)) {  // else it takes all, whatever that is
    threshold.move({.values = {values.dtype, values.data, taken}, .gone = stays ? 0 : contributed},
                   rooms[workspace].data);
  }
  if (too_many || too_few) threshold.forget();
  threshold.store(rooms[threshold_array].data);
}

/// Writes to `found` which of these places the result has, where that is a list of entries. Returns how many.
std::uint64_t find_in_entries(std::span<const std::uint32_t> places, const OutputEntries& result,
                              std::uint32_t* found) {
  const std::uint32_t *const begin = result.places, *const end = begin + *result.count;
  std::uint32_t* next = found;
  for (std::uint32_t place : places) {
    if (std::binary_search(begin, end, place)) *next++ = place;
  }
  return static_cast<std::uint64_t>(next - found);
}

std::uint64_t find_in_result(const KernelCall& call, const List& mine, std::span<const Extent> rooms) {
  auto* const found = reinterpret_cast<std::uint32_t*>(rooms[found_places].data);
  const std::span<const std::uint32_t> places(mine.places, mine.count);
  if (sparse::form_of(call.part).listed) {
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

/// given[0]: was the selection exact? given[1]: have blocks been balanced?
Status settle_run(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::select_time);
  const sparse::Accumulator from(call, {});
  const std::span<const Extent> rooms = from.rest();
  const List mine{.places = reinterpret_cast<std::uint32_t*>(call.reads[1].data), .count = call.uses[0]};
  const std::uint64_t contributed = find_in_result(call, mine, rooms);
  from.clear_at({reinterpret_cast<const std::uint32_t*>(rooms[found_places].data), contributed},
                options_of(call.part.call).masking);
  call.counted.contributed += contributed;
  call.counted.kept += sparse::places_of(call.part) - contributed;
  report(call, measure::largest_block, static_cast<double>(call.uses[1]));
  report(call, measure::balanced, static_cast<double>(call.given[1]));
  move_threshold(call, call.reads[2], contributed, rooms);
  return {};
}

constexpr Kernel settle_kernel = {"settle", settle_run};

}  // namespace

void settle(GraphBuilder& g, const Reduced& reduced, const Sizes& sizes) {
  const Form form = form_of(g);
  const sparse::Selection found = sparse::room_for_selection(g);
  const std::vector<Region> rooms = {threshold_room(g), found.places, found.values,
                                     g.buffer({.capacity = sparse::most_selected}),
                                     g.buffer({.element = Dtype::U8, .capacity = sparse::workspace_bytes})};
  g.kernel(settle_kernel, {.reads = {g.output(), reduced.mine.places, reduced.mine.values},
                           .writes = sparse::joined(sparse::accumulator_rooms(g), rooms),
                           .uses = {reduced.mine.count, sizes.largest},
                           .given = {form.reevaluates, form.stage == Stage::Balance}});
}

}  // namespace lacuna::ok
