#include <fmt/format.h>

#include <algorithm>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "algorithms/sketch/steps.hpp"
#include "kernels/elements.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::sketching {
namespace {

std::size_t words_of_ranks(const PartView& part) { return kernels::words_of_map(grid_of(part).count()) + 1; }
std::size_t words_of_last_union(const PartView&) { return last_union_words; }
/// The longest piece of a map, for all positions.
std::size_t bytes_of_pieces(const PartView& part) { return map_bytes(part) + static_cast<std::size_t>(part.size); }

constexpr BufferInfo map_room = {.element = Dtype::U8, .capacity = map_bytes, .memory = MemoryKind::Host};

/// Writes the map of the blocks of the input.
struct FindBlocks {
  static constexpr std::string_view name = "find blocks";
  Read input;
  Write map;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::encode_time);
    call.backend.find_blocks({input->dtype, input->data, input->count}, grid_of(call.part), nullptr, map->data);
    return {};
  }
};

/// Defines where the pieces of a map lie, and where arriving pieces go.
struct CutMap {
  static constexpr std::string_view name = "cut map";
  Defines lengths, begins;  ///< by position
  Defines arrivals;         ///< by distance before the own position, from 1 on

  Status operator()(const KernelCall& call) const {
    const std::size_t bytes = map_bytes(call.part), pieces = lengths.size();
    const auto own = static_cast<std::size_t>(call.part.position);
    for (std::size_t i = 0; i < pieces; ++i) {
      begins[i] = boundary(i, bytes, pieces);
      lengths[i] = boundary(i + 1, bytes, pieces) - begins[i];
    }
    for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i] = i * lengths[own];
    return {};
  }
};

/// Returns ok, or an error if the end of a map that this rank has sent has bits behind the last block.
Status check_end(const KernelCall& call, const Extent& end, Rank from) {
  const std::size_t blocks = grid_of(call.part).count();
  if (blocks % 8 == 0 || static_cast<unsigned>(end.data[end.count - 1]) >> blocks % 8 == 0) return {};
  return {Code::Mismatch, fmt::format("the message of rank {}: a map of {} has bits behind the last one", from,
                                      count_of(blocks, "block"))};
}

/// Unites the own piece of the maps of all ranks.
struct UnitePiece {
  static constexpr std::string_view name = "unite";
  Read own;
  Reads arrived;  ///< by distance before the own position, from 1 on
  Write piece;

  Status operator()(const KernelCall& call) const {
    const Rank size = call.part.size, me = call.part.position;
    std::copy_n(own->data, own->count, piece->data);
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      const Rank from = (me - 1 - static_cast<Rank>(i) + size) % size;
      const Status sound = me == size - 1 ? check_end(call, arrived[i], from) : Status();
      if (!sound) return sound;
      call.backend.unite_bits(piece->data, arrived[i].data, 8 * piece->count);
    }
    return {};
  }
};

/// Counts the blocks of a map, whose last piece came from the last rank.
struct CountBlocks {
  static constexpr std::string_view name = "count blocks";
  Read map;
  Write ranks;
  Define count, elements;
  Write last{};  ///< of the state

  Status operator()(const KernelCall& call) const {
    const kernels::BlockGrid grid = grid_of(call.part);
    const std::size_t bits = grid.count();
    if (Status sound = check_end(call, *map, call.part.size - 1); !sound) return sound;
    call.backend.rank_bits(map->data, bits, reinterpret_cast<std::uint32_t*>(ranks->data));
    *count = kernels::load<std::uint32_t>(ranks->data, ranks->count - 1);
    const std::size_t at = (bits - 1) / 8;
    const bool has_last = bits > 0 && (map->data[at] >> (bits - 1) % 8 & std::byte{1}) != std::byte{0};
    *elements = *count * grid.length - (has_last ? grid.missing() : 0);
    if (last) {
      const LastUnion there{1, static_cast<std::int64_t>(*count), static_cast<std::int64_t>(*elements)};
      kernels::store(last->data, 0, there);
    }
    return {};
  }
};

}  // namespace

kernels::BlockGrid grid_of(const PartView& part) {
  return {.elements = part.count, .length = options_of(part.call).block};
}
std::size_t map_bytes(const PartView& part) { return (grid_of(part).count() + 7) / 8; }

Region input_of(GraphBuilder& g) {
  const Form form = form_of(g);
  if (!form.feedback) return g.input();
  const Region residual = g.buffer({.role = Role::State, .name = residual_array});
  const bool is_first = form.stage != Stage::Sketch && form.stage != Stage::Rest;
  if (is_first) g.reduce(residual, g.input());
  return residual;
}

Region find_blocks(GraphBuilder& g, const Region& input) {
  const Region map = g.buffer(map_room);
  g.kernel(FindBlocks{.input = input, .map = map});
  return map;
}

Region shared_map(GraphBuilder& g) {
  BufferInfo info = map_room;
  info.role = Role::Run;
  info.name = "blocks";
  return g.buffer(info);
}

Region unite_maps(GraphBuilder& g, const Region& mine, bool shared) {
  const Region all = shared ? shared_map(g) : g.buffer(map_room);
  const Region arrived = g.buffer({.element = Dtype::U8, .capacity = bytes_of_pieces, .memory = MemoryKind::Host});
  std::vector<Value> lengths, begins, arrivals;
  for (Rank i = 0; i < g.size(); ++i) {
    lengths.push_back(g.agreed());
    begins.push_back(g.value());
    if (i > 0) arrivals.push_back(g.value());
  }
  g.kernel(CutMap{.lengths = lengths, .begins = begins, .arrivals = arrivals});
  const auto piece_of = [&](const Region& map, Rank i) {
    const auto at = static_cast<std::size_t>((i + g.size()) % g.size());
    return GraphBuilder::counted(map, lengths[at], begins[at]);
  };
  const Rank me = g.position();
  std::vector<Region> pieces, rooms;
  for (Rank i = 0; i < g.size(); ++i) pieces.push_back(piece_of(all, i));
  for (Value at : arrivals) rooms.push_back(GraphBuilder::counted(arrived, lengths[static_cast<std::size_t>(me)], at));
  pieces = g.disjoint(pieces);
  if (!rooms.empty()) rooms = g.disjoint(rooms);
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(piece_of(mine, me + distance), me + distance);
    g.receive(rooms[static_cast<std::size_t>(distance) - 1], me - distance);
  }
  const Region own = pieces[static_cast<std::size_t>(me)];
  g.kernel(UnitePiece{.own = piece_of(mine, me), .arrived = rooms, .piece = own});
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(own, me + distance);
    g.receive(pieces[static_cast<std::size_t>((me - distance + g.size()) % g.size())], me - distance);
  }
  return all;
}

Blocks count_blocks(GraphBuilder& g, const Region& map, bool is_union) {
  Blocks blocks{.map = map,
                .ranks = g.buffer({.element = Dtype::I32, .capacity = words_of_ranks, .memory = MemoryKind::Host}),
                .count = g.agreed(),
                .elements = g.agreed()};
  CountBlocks count{.map = map, .ranks = blocks.ranks, .count = blocks.count, .elements = blocks.elements};
  if (is_union && form_of(g).remembers) {
    count.last = g.buffer({.role = Role::State,
                           .element = Dtype::I64,
                           .capacity = words_of_last_union,
                           .name = last_union_array,
                           .own = false,
                           .memory = MemoryKind::Host});
  }
  g.kernel(std::move(count));
  return blocks;
}

}  // namespace lacuna::sketching
