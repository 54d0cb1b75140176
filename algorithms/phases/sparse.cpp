#include "algorithms/phases/sparse.hpp"

#include <algorithm>

#include "algorithms/phases/sparse_kernels.hpp"

namespace lacuna::sparse {
namespace {

constexpr std::size_t message_alignment = 64;

std::size_t selection_bytes(const PartView& part) {
  return longest_message(part, arguments_of(part).room, places_of(part));
}

/// Of messages for all ranges of a selection: less than one message of all of it and, for each, a header and what fills
/// up to the next.
std::size_t packed_bytes(const PartView& part) {
  return selection_bytes(part) + static_cast<std::size_t>(part.size) * (2 * message_alignment);
}

/// What may come from another rank: of its selection, or the sum of one range.
std::size_t most_landed(const PartView& part) { return std::max(packed_bytes(part), most_message_bytes(part)); }
constexpr BufferInfo landed_message = {.element = Dtype::U8, .capacity = most_landed};

Status pack_all(const KernelCall& call) {
  const Stopwatch watch(call, measure::pack_time);
  const List mine = List::of(call.reads[1], call.reads[2], call.uses[0]);
  std::size_t begin = 0;
  for (std::size_t distance = 0; distance < call.defines.size() / 2; ++distance) {
    const Range range = range_of(call.reads[0], rank_at(call.part, static_cast<std::int64_t>(distance)));
    const std::size_t bytes = write_message(call, mine.in(range), range, call.writes[0].data + begin);
    call.defines[2 * distance] = bytes;
    call.defines[2 * distance + 1] = begin;
    begin += (bytes + message_alignment - 1) / message_alignment * message_alignment;
  }
  return {};
}

Status pack_all_as_one(const KernelCall& call) {
  const Stopwatch watch(call, measure::pack_time);
  const List mine = List::of(call.reads[0], call.reads[1], call.uses[0]);
  call.defines[0] = write_message(call, mine.all(), all_places(call.part), call.writes[0].data);
  return {};
}

/// Adds the messages that stand in the call's reads from `first` on, by distance, in the order of their ranks.
Status add_messages(const KernelCall& call, std::size_t first, const Range& range, Views& views) {
  for (Rank rank = 0; rank < call.part.size; ++rank) {
    const Extent& message = call.reads[first + distance_to(call.part, rank)];
    if (Status sound = views.add_message(call, message, rank, range); !sound) return sound;
  }
  return {};
}

Status merge_range(const KernelCall& call) {
  const Range range = range_of(call.reads[0], call.part.position);
  Views views = Views::of(call, range);
  if (Status sound = add_messages(call, 1, range, views); !sound) return sound;
  return merge(call, views, range, scale_of(call.part));
}

/// Of messages that begin with the call's read `first`.
Status sum_views(const KernelCall& call, std::size_t first, const Range& range, Scale scale) {
  const Stopwatch watch(call, measure::merge_time);
  OutputWriter out(call, call.writes.front());
  Views views = out.views(range, call.reads.size() - first);
  if (Status sound = add_messages(call, first, range, views); !sound) return sound;
  out.add(views, scale, 0);
  return out.end();
}

Status sum_all(const KernelCall& call) { return sum_views(call, 0, all_places(call.part), scale_of(call.part)); }

Status sum_range(const KernelCall& call) {
  return sum_views(call, 1, range_of(call.reads[0], call.part.position), scale_of(call.part));
}

Status join_all(const KernelCall& call) { return sum_views(call, 0, all_places(call.part), {}); }

/// One message, of rank `from`, for what begins at place `begin`.
Status place(const KernelCall& call, OutputWriter& out, const Extent& message, Rank from, const Range& range,
             std::size_t begin) {
  Views views = out.views(range, 1);
  if (Status sound = views.add_message(call, message, from, range); !sound) return sound;
  out.add(views, {}, begin);
  return {};
}

/// Of each rank, in order, the message that stands in the call's reads from `first` on, by distance.
Status place_each(const KernelCall& call, std::size_t first, auto range_of_rank, auto begin_of_rank) {
  const Stopwatch watch(call, measure::merge_time);
  OutputWriter out(call, call.writes.front());
  for (Rank from = 0; from < call.part.size; ++from) {
    const Extent& message = call.reads[first + distance_to(call.part, from)];
    Status status = place(call, out, message, from, range_of_rank(from), begin_of_rank(from));
    if (!status) return status;
  }
  return out.end();
}

Status place_all(const KernelCall& call) {
  const auto range = [&](Rank from) { return range_of(call.reads[0], from); };
  return place_each(call, 1, range, [&](Rank from) { return static_cast<std::size_t>(range(from).begin); });
}

Status place_blocks(const KernelCall& call) {
  return place_each(
      call, 0, [&](Rank) { return all_places(call.part); },
      [&](Rank from) { return static_cast<std::size_t>(from) * call.part.count; });
}

/// Of rank given[0], piece given[1] and those behind it, of given[2].
Status place_some(const KernelCall& call) {
  const Stopwatch watch(call, measure::merge_time);
  OutputWriter out(call, call.writes.front());
  const auto start = piece_range(call.part, call.given[1], call.given[2]).begin;
  for (std::size_t i = 0; i < call.reads.size(); ++i) {
    const Range range = piece_range(call.part, call.given[1] + static_cast<std::int64_t>(i), call.given[2]);
    Status status = place(call, out, call.reads[i], static_cast<Rank>(call.given[0]), range,
                          static_cast<std::size_t>(range.begin - start));
    if (!status) return status;
  }
  return out.end();
}

constexpr Kernel pack_all_kernel = {"pack", pack_all}, pack_whole_kernel = {"pack", pack_all_as_one},
                 reduce_range_kernel = {"reduce range", merge_range}, sum_all_kernel = {"sum messages", sum_all},
                 sum_range_kernel = {"sum messages", sum_range}, join_all_kernel = {"place messages", join_all},
                 place_all_kernel = {"place messages", place_all},
                 place_blocks_kernel = {"place messages", place_blocks},
                 place_some_kernel = {"place messages", place_some};

std::vector<Region> whole(const GraphBuilder& g, Holds holds, Region all, auto block) {
  if (!has_blocks(g.collective())) return {all};
  if (holds != Holds::Blocks) return {block(g.position())};
  std::vector<Region> blocks;
  for (Rank rank = 0; rank < g.size(); ++rank) blocks.push_back(block(rank));
  return blocks;
}

}  // namespace

Selection room_for_selection(GraphBuilder& g) {
  return {.places = g.buffer({.element = Dtype::I32, .capacity = most_selected}),
          .values = g.buffer({.capacity = most_selected}),
          .count = g.value()};
}

std::vector<Region> whole_input(const GraphBuilder& g) {
  return whole(g, traits_of(g.collective()).input, g.input(), [&](Rank block) { return g.input(block); });
}

std::vector<Region> whole_output(const GraphBuilder& g) {
  return whole(g, traits_of(g.collective()).output, g.output(), [&](Rank block) { return g.output(block); });
}

std::vector<Region> whole_array(GraphBuilder& g, std::string_view name) {
  const Region all = g.buffer({.role = Role::State, .name = name});
  return whole(g, traits_of(g.collective()).input, all, [&](Rank block) { return piece_of(all, block, g.size()); });
}

std::vector<Region> joined(std::vector<Region> first, const std::vector<Region>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Region piece_of(const Region& all, Rank piece, Rank of) {
  return {.buffer = all.buffer,
          .of = static_cast<std::uint32_t>(of),
          .begin = static_cast<std::uint32_t>(piece),
          .end = static_cast<std::uint32_t>(piece) + 1};
}

Region selection_room(GraphBuilder& g) { return g.buffer({.element = Dtype::U8, .capacity = selection_bytes}); }

std::vector<Region> pack_for_all(GraphBuilder& g, const Selection& mine, const Region& ranges) {
  const Region room = g.buffer({.element = Dtype::U8, .capacity = packed_bytes});
  std::vector<Value> defines;
  std::vector<Region> messages;
  for (Rank distance = 0; distance < g.size(); ++distance) {
    const Value bytes = defines.emplace_back(g.value()), begin = defines.emplace_back(g.value());
    messages.push_back(GraphBuilder::counted(room, bytes, begin));
  }
  g.kernel(pack_all_kernel, {.reads = {ranges, mine.places, mine.values},
                             .writes = {room},
                             .uses = {mine.count},
                             .defines = std::move(defines)});
  return messages;
}

Region pack_whole(GraphBuilder& g, const Selection& mine) {
  const Region room = g.buffer({.element = Dtype::U8, .capacity = packed_bytes});
  const Value bytes = g.value();
  g.kernel(pack_whole_kernel,
           {.reads = {mine.places, mine.values}, .writes = {room}, .uses = {mine.count}, .defines = {bytes}});
  return GraphBuilder::counted(room, bytes);
}

Region receive_message(GraphBuilder& g, Rank from) { return g.receive_landed(from, landed_message); }

std::vector<Region> split(GraphBuilder& g, const Selection& mine, const Region& ranges) {
  const std::vector<Region> packed = pack_for_all(g, mine, ranges);
  std::vector<Region> messages = {packed.front()};
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(packed[static_cast<std::size_t>(distance)], g.position() + distance);
    messages.push_back(receive_message(g, g.position() - distance));
  }
  return messages;
}

std::vector<Region> exchange(GraphBuilder& g, const Region& mine) {
  std::vector<Region> messages = {mine};
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(mine, g.position() + distance);
    messages.push_back(receive_message(g, g.position() - distance));
  }
  return messages;
}

Region reduce_range(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges) {
  const MergeRooms rooms = merge_rooms(g);
  const Value bytes = g.value();
  g.kernel(reduce_range_kernel, {.reads = joined({ranges}, messages), .writes = rooms.regions(), .defines = {bytes}});
  return GraphBuilder::counted(rooms.message, bytes);
}

void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages) {
  g.kernel(sum_all_kernel, {.reads = messages, .writes = result_rooms(g, whole_output(g), views_room)});
}

void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges) {
  g.kernel(sum_range_kernel,
           {.reads = joined({ranges}, messages), .writes = result_rooms(g, whole_output(g), views_room)});
}

void join_in_output(GraphBuilder& g, const std::vector<Region>& messages) {
  g.kernel(join_all_kernel, {.reads = messages, .writes = result_rooms(g, whole_output(g), views_room)});
}

void place_in_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges) {
  g.kernel(place_all_kernel,
           {.reads = joined({ranges}, messages), .writes = result_rooms(g, whole_output(g), view_room)});
}

void place_in_blocks(GraphBuilder& g, const std::vector<Region>& messages) {
  g.kernel(place_blocks_kernel, {.reads = messages, .writes = result_rooms(g, whole_output(g), view_room)});
}

void place_pieces(GraphBuilder& g, const std::vector<Region>& messages, Rank from, Rank piece, Rank of) {
  const Rank end = piece + static_cast<Rank>(messages.size());
  g.kernel(place_some_kernel, {.reads = messages,
                               .writes = result_rooms(g, {g.output(piece, end, of)}, view_room),
                               .given = {from, piece, of}});
}

}  // namespace lacuna::sparse
