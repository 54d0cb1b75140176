#include "algorithms/phases/sparse.hpp"

#include <algorithm>

#include "algorithms/phases/entry_lists.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

namespace lacuna::sparse {
namespace {

constexpr std::size_t message_alignment = 64;

std::size_t selection_bytes(const PartView& part) {
  return longest_message(part, arguments_of(part).room, places_of(part));
}

/// Returns the most bytes that the messages for all ranges of a selection have: those of one message of the whole
/// selection and, for each range, a header and the bytes up to the next aligned address.
std::size_t packed_bytes(const PartView& part) {
  return selection_bytes(part) + static_cast<std::size_t>(part.size) * (2 * message_alignment);
}

/// Returns the most bytes of a message that may come from another rank. It holds entries of that rank's selection, or
/// the sum of one range.
std::size_t most_landed(const PartView& part) { return std::max(packed_bytes(part), most_message_bytes(part)); }
constexpr BufferInfo landed_message = {.element = Dtype::U8, .capacity = most_landed};

/// Writes the messages for all ranks one after the other.
struct PackForAll {
  static constexpr std::string_view name = "pack";
  Read ranges;
  ReadList mine;
  Write messages;
  Defines bytes, begins;  ///< by distance: how long each message is, and where it begins

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::pack_time);
    const List list = mine.list();
    std::size_t begin = 0;
    for (std::size_t distance = 0; distance < bytes.size(); ++distance) {
      const Range range = range_of(*ranges, rank_at(call.part, static_cast<std::int64_t>(distance)));
      bytes[distance] = write_message(call, list.in(call, range), range, messages->data + begin);
      begins[distance] = begin;
      begin += (bytes[distance] + message_alignment - 1) / message_alignment * message_alignment;
    }
    return {};
  }
};

struct PackWhole {
  static constexpr std::string_view name = "pack";
  ReadList mine;
  WriteMessage message;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::pack_time);
    write_message(call, mine.list().all(), all_places(call.part), message);
    return {};
  }
};

/// Adds messages in the order of their ranks. They are given by distance.
Status add_messages(const KernelCall& call, const Reads& messages, const Range& range, Views& views) {
  for (Rank rank = 0; rank < call.part.size; ++rank) {
    const Extent& message = messages[distance_to(call.part, rank)];
    if (Status sound = views.add_message(call, message, rank, range); !sound) return sound;
  }
  return {};
}

struct ReduceRange {
  static constexpr std::string_view name = "reduce range";
  Read ranges;
  Reads messages;
  MergeRooms rooms;
  WriteMessage sum;

  Status operator()(const KernelCall& call) const {
    const Range range = range_of(*ranges, call.part.position);
    Views views = Views::of(rooms, call.part, range);
    if (Status sound = add_messages(call, messages, range, views); !sound) return sound;
    return merge(call, rooms, views, range, scale_of(call.part), sum);
  }
};

Status sum_messages(const KernelCall& call, const Reads& messages, const Range& range, Scale scale,
                    const WriteResult& result) {
  const Stopwatch watch(call, measure::merge_time);
  OutputWriter out(call, result);
  Views views = out.views(range, messages.size());
  if (Status sound = add_messages(call, messages, range, views); !sound) return sound;
  out.add(views, scale, 0);
  return out.end();
}

/// Sums up messages of the own range or, without ranges, of all places.
struct SumMessages {
  static constexpr std::string_view name = "sum messages";
  Read ranges{};
  Reads messages;
  WriteResult result;

  Status operator()(const KernelCall& call) const {
    const Range range = ranges ? range_of(*ranges, call.part.position) : all_places(call.part);
    return sum_messages(call, messages, range, scale_of(call.part), result);
  }
};

/// Writes the entries of all messages to the result. The messages are of all places, and no two of them have an entry
/// at the same place.
struct JoinMessages {
  static constexpr std::string_view name = "place messages";
  Reads messages;
  WriteResult result;

  Status operator()(const KernelCall& call) const {
    return sum_messages(call, messages, all_places(call.part), {}, result);
  }
};

/// Writes the message of rank `from` to the output from place `begin` on.
Status place(const KernelCall& call, OutputWriter& out, const Extent& message, Rank from, const Range& range,
             std::size_t begin) {
  Views views = out.views(range, 1);
  if (Status sound = views.add_message(call, message, from, range); !sound) return sound;
  out.add(views, {}, begin);
  return {};
}

/// Writes each rank's message to the rank's range or, without ranges, to its block.
struct PlaceMessages {
  static constexpr std::string_view name = "place messages";
  Read ranges{};
  Reads messages;  ///< by distance
  WriteResult result;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::merge_time);
    OutputWriter out(call, result);
    for (Rank from = 0; from < call.part.size; ++from) {
      const Range range = ranges ? range_of(*ranges, from) : all_places(call.part);
      const auto begin =
          ranges ? static_cast<std::size_t>(range.begin) : static_cast<std::size_t>(from) * call.part.count;
      const Extent& message = messages[distance_to(call.part, from)];
      if (Status sound = place(call, out, message, from, range, begin); !sound) return sound;
    }
    return out.end();
  }
};

/// Writes messages of one rank to the output. The first is of piece number `piece` of the places, and the next ones of
/// the pieces that follow.
struct PlacePieces {
  static constexpr std::string_view name = "place messages";
  Reads messages;
  WriteResult result;
  Rank from, piece, of;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::merge_time);
    OutputWriter out(call, result);
    const auto start = piece_range(call.part, piece, of).begin;
    std::int64_t next = piece;
    for (const Extent& message : messages) {
      const Range range = piece_range(call.part, next++, of);
      Status sound = place(call, out, message, from, range, static_cast<std::size_t>(range.begin - start));
      if (!sound) return sound;
    }
    return out.end();
  }
};

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

std::vector<Region> whole_input(GraphBuilder& g) {
  if (g.stands_for(Buffer::Input) == Buffer::Input && !g.in_place()) {
    g.locate(Buffer::Input, elements_brought);
    return {GraphBuilder::all_of(Buffer::Input)};
  }
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
  std::vector<Value> bytes, begins;
  std::vector<Region> messages;
  for (Rank distance = 0; distance < g.size(); ++distance) {
    const Value length = bytes.emplace_back(g.value());
    messages.push_back(GraphBuilder::counted(room, length, begins.emplace_back(g.value())));
  }
  g.kernel(PackForAll{
      .ranges = ranges, .mine = read(mine), .messages = room, .bytes = std::move(bytes), .begins = std::move(begins)});
  return messages;
}

Region pack_whole(GraphBuilder& g, const Selection& mine) {
  const WriteMessage message = message_in(g, g.buffer({.element = Dtype::U8, .capacity = packed_bytes}));
  g.kernel(PackWhole{.mine = read(mine), .message = message});
  return message.region();
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
  const WriteMessage sum = message_in(g, message_room(g));
  g.kernel(ReduceRange{.ranges = ranges, .messages = messages, .rooms = rooms, .sum = sum});
  return sum.region();
}

void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages) {
  g.kernel(SumMessages{.messages = messages, .result = result_rooms(g, whole_output(g), views_room)});
}

void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges) {
  g.kernel(SumMessages{.ranges = ranges, .messages = messages, .result = result_rooms(g, whole_output(g), views_room)});
}

void join_in_output(GraphBuilder& g, const std::vector<Region>& messages) {
  g.kernel(JoinMessages{.messages = messages, .result = result_rooms(g, whole_output(g), views_room)});
}

void place_in_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges) {
  g.kernel(
      PlaceMessages{.ranges = ranges, .messages = messages, .result = result_rooms(g, whole_output(g), view_room)});
}

void place_in_blocks(GraphBuilder& g, const std::vector<Region>& messages) {
  g.kernel(PlaceMessages{.messages = messages, .result = result_rooms(g, whole_output(g), view_room)});
}

void place_pieces(GraphBuilder& g, const std::vector<Region>& messages, Rank from, Rank piece, Rank of) {
  const Rank end = piece + static_cast<Rank>(messages.size());
  g.kernel(PlacePieces{.messages = messages,
                       .result = result_rooms(g, {g.output(piece, end, of)}, view_room),
                       .from = from,
                       .piece = piece,
                       .of = of});
}

}  // namespace lacuna::sparse
