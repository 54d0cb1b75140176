#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/ok_topk/state.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"
#include "kernels/elements.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

using kernels::backend;
using kernels::Cut;
using sparse::List;
using sparse::Range;

kernels::EntriesList room_of(const Extent& places, const Extent& values, std::size_t base = 0) {
  return {reinterpret_cast<std::uint32_t*>(places.data), values.data, places.count, static_cast<std::uint32_t>(base)};
}

/// Selects the block from the sums. uses[0] is how many sums there are, uses[1] how many are to be in the block.
Status cut_block(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::select_time);
  const List sums = List::of(call.reads[0], call.reads[1], call.uses[0]);
  const Cut cut = sparse::cut_of_largest({sums.dtype, sums.values, sums.count}, call.uses[1], call.writes[2]);
  call.defines[0] = 0;
  backend().keep(sums.all(), &cut, room_of(call.writes[0], call.writes[1]), {sums.dtype, nullptr, 0}, &call.defines[0]);
  return {};
}

Status pack_block(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::pack_time);
  const Range range = sparse::range_of(call.reads[0], call.part.position);
  const List block = List::of(call.reads[1], call.reads[2], call.uses[0]);
  call.defines[0] = sparse::write_message(call, block.in(range), range, call.writes[0].data);
  return {};
}

/// Counts the entries in the messages of all ranks: how many there are together, and the most in one message.
Status count_entries(const KernelCall& call) {
  std::uint64_t total = 0, largest = 0;
  for (const Extent& message : call.reads) {
    kernels::EntriesHeader header;
    if (message.bytes() >= sizeof(header)) std::memcpy(&header, message.data, sizeof(header));  // placing checks them
    total += header.entries;
    largest = std::max<std::uint64_t>(largest, header.entries);
  }
  call.defines[0] = total;
  call.defines[1] = largest;
  return {};
}

/// The places of these rooms in the writes of place_largest.
enum Room : std::size_t { largest_places = sparse::merged_message, largest_values, workspace, result };

/// All entries of the messages of all ranks. These are the call's reads from the second on, by distance.
Result<List> all_entries(const KernelCall& call, const sparse::OutputWriter& out) {
  const Extent &places = call.writes[sparse::merged_places], &values = call.writes[sparse::merged_values],
               &sums = call.writes[sparse::merged_sums];
  std::uint64_t count = 0;
  for (Rank from = 0; from < call.part.size; ++from) {
    const Range range = sparse::range_of(call.reads[0], from);
    sparse::Views views = out.views(range, 1);
    const Status sound = views.add_message(call, call.reads[1 + sparse::distance_to(call.part, from)], from, range);
    if (!sound) return sound;
    backend().merge(views.views(), views.before(), {}, views.length(), {sums.dtype, sums.data, sums.count},
                    room_of(places, values, static_cast<std::size_t>(range.begin)), &count);
  }
  if (count <= places.count) return List::of(places, values, count);
  return Status(Code::Mismatch, fmt::format("the ranks have summed up {}, at most {} were agreed on",
                                            count_of(count, "entry"), places.count));
}

Status place_largest(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::merge_time);
  sparse::OutputWriter out(call, call.writes[result]);
  const auto all = all_entries(call, out);
  if (!all) return all.status();
  const Cut cut = sparse::cut_of_largest({all->dtype, all->values, all->count}, sparse::arguments_of(call.part).wanted,
                                         call.writes[workspace]);
  report(call, measure::global_threshold, threshold_of(all->dtype, cut));
  std::uint64_t taken = 0;
  backend().keep(all->all(), &cut, room_of(call.writes[largest_places], call.writes[largest_values]),
                 {all->dtype, nullptr, 0}, &taken);
  sparse::Views views = out.views(sparse::all_places(call.part), 1);
  const List largest = List::of(call.writes[largest_places], call.writes[largest_values], taken);
  if (Status sound = views.add(largest.all(), call.part.position); !sound) return sound;
  out.add(views, {}, 0);
  return out.end();
}

constexpr Kernel cut_block_kernel = {"select globally", cut_block}, pack_block_kernel = {"pack", pack_block},
                 count_entries_kernel = {"count entries", count_entries},
                 place_largest_kernel = {"place largest", place_largest};

std::vector<Region> exchange_blocks(GraphBuilder& g, const sparse::Selection& block, const Region& ranges) {
  const Region room = sparse::message_room(g);
  const Value bytes = g.value();
  g.kernel(
      pack_block_kernel,
      {.reads = {ranges, block.places, block.values}, .writes = {room}, .uses = {block.count}, .defines = {bytes}});
  return sparse::exchange(g, GraphBuilder::counted(room, bytes));
}

Sizes count_blocks(GraphBuilder& g, const std::vector<Region>& messages) {
  const Sizes sizes{g.value(), g.value()};
  g.kernel(count_entries_kernel, {.reads = messages, .defines = {sizes.total, sizes.largest}});
  return sizes;
}

}  // namespace

sparse::Selection select_globally(GraphBuilder& g, const Told& told) {
  const sparse::Selection &sums = told.reduced.sums, block = sparse::room_for_selection(g);
  const Region workspace = g.buffer({.element = Dtype::U8, .capacity = sparse::workspace_bytes});
  g.kernel(cut_block_kernel, {.reads = {sums.places, sums.values},
                              .writes = {block.places, block.values, workspace},
                              .uses = {sums.count, told.quota},
                              .defines = {block.count}});
  return block;
}

void gather_blocks(GraphBuilder& g, const sparse::Selection& block, const Region& ranges) {
  sparse::place_in_output(g, exchange_blocks(g, block, ranges), ranges);
}

Sizes gather_largest(GraphBuilder& g, const Reduced& reduced) {
  const std::vector<Region> sums = exchange_blocks(g, reduced.sums, reduced.ranges);
  const sparse::Selection largest = sparse::room_for_selection(g);
  std::vector<Region> writes = sparse::list_rooms(g).regions();
  writes = sparse::joined(std::move(writes), {largest.places, largest.values,
                                              g.buffer({.element = Dtype::U8, .capacity = sparse::workspace_bytes})});
  writes = sparse::joined(std::move(writes), sparse::result_rooms(g, sparse::whole_output(g), sparse::view_room));
  g.kernel(place_largest_kernel, {.reads = sparse::joined({reduced.ranges}, sums), .writes = std::move(writes)});
  return count_blocks(g, sums);
}

}  // namespace lacuna::ok
