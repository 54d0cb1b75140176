#include <algorithm>
#include <cstring>

#include "algorithms/blocks/listed.hpp"
#include "kernels/elements.hpp"

namespace lacuna::block {
namespace {

using kernels::BlockGrid;
using kernels::BlockSet;

kernels::Source source_of(const Extent& data) { return {data.dtype, data.data, data.count}; }

/// Writes the map of the blocks of a grid that are to travel.
void find(const KernelCall& call, const Extent& data, const BlockGrid& grid, std::byte* map) {
  kernels::Cut cut;
  const double threshold = options_of(call.part.call).threshold;
  if (threshold > 0) cut.above = kernels::magnitude_of(data.dtype, threshold);
  call.backend.find_blocks(source_of(data), grid, threshold > 0 ? &cut : nullptr, map);
}

/// Completes the set of an owner's shard, whose map has been written.
BlockSet complete(const KernelCall& call, Rank owner, std::byte* at) {
  const BlockGrid grid = shard_of(call.part, owner);
  complete_set(call.backend, at, grid.count());
  const BlockSet set = set_in(at, grid.count());
  call.measures.tell(measure::sent, static_cast<double>(size_of(set, grid.count())));
  call.measures.tell(measure::elements, static_cast<double>(elements_of(set, grid)));
  return set;
}

/// Finds the blocks of all shards, and writes the messages of their sets for the other owners.
struct FindBlocks {
  static constexpr std::string_view name = "find blocks";
  Data data;
  SortEntries list;  ///< if there is one, it has the blocks, instead of the data
  Write all;         ///< the map of all blocks
  Write sets, messages;
  Defines begins, bytes;      ///< of the messages, by distance of the owner
  Defines offsets, elements;  ///< of the packed blocks, by distance of the owner

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::find_time);
    const PartView& part = call.part;
    const Roles roles = roles_of(part);
    const std::size_t message_bytes = bytes_of_message(part);
    if (brings_list(part)) {
      if (Status sound = list.write_maps(call, sets->data); !sound) return sound;
    } else if (has_blocks(part.call.collective)) {
      for (Rank owner = 0; owner < roles.owners; ++owner) {
        find(call, data.of(owner), shard_of(part, owner), map_in(set_at(part, sets->data, owner)));
      }
    } else {
      deal_blocks(call, roles);
    }
    for (Rank i = 0; i < roles.owners; ++i) {
      complete(call, roles.first_owner() + i, set_at(part, sets->data, roles.first_owner() + i));
    }
    if (brings_list(part)) list.run(call, sets->data);
    std::size_t peer = 0, offset = 0;
    for (Rank distance = 1; distance < part.size; ++distance) {
      const Rank owner = position_at(part.position, distance, part.size);
      if (!roles.is_owner(owner)) continue;
      const BlockGrid grid = shard_of(part, owner);
      const BlockSet set = set_in(set_at(part, sets->data, owner), grid.count());
      begins[peer] = peer * message_bytes;
      bytes[peer] = write_set(set, grid.count(), messages->data + begins[peer]);
      offsets[peer] = offset;
      elements[peer] = elements_of(set, grid);
      call.measures.tell(measure::up, static_cast<double>(size_of(set, grid.count())));
      offset += elements[peer++];
    }
    return {};
  }

  /// Looks at all blocks in the order in which they lie, which is fastest, and deals them to the owners.
  void deal_blocks(const KernelCall& call, const Roles& roles) const {
    const PartView& part = call.part;
    const BlockGrid grid{.elements = part.count, .length = arguments_of(part).block};
    find(call, data.of(0), grid, all->data);
    std::memset(sets->data, 0, sets->bytes());
    each_bit(all->data, grid.count(), [&](std::size_t block) {
      const auto [owner, i] = dealt(part, roles, block);
      map_in(set_at(part, sets->data, owner))[i / 8] |= std::byte{1} << i % 8;
    });
  }
};

/// Packs the blocks of one shard. What it packs leaves a residual.
struct PackBlocks {
  static constexpr std::string_view name = "pack blocks";
  Data data;
  PackEntries list;  ///< the blocks are of it, if there is one
  Read set;
  Write packed;
  Rank owner;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::pack_time);
    if (brings_list(call.part)) {
      list.run(call, owner, packed->data);
      return {};
    }
    const BlockGrid grid = shard_of(call.part, owner);
    const BlockSet blocks = set_in(set->data, grid.count());
    const Extent& from = data.of(owner);
    call.backend.take_blocks(source_of(from), grid, blocks, packed->data);
    if (data.is_kept()) call.backend.clear_blocks(grid, blocks, {from.dtype, from.data, from.count});
    return {};
  }
};

std::size_t owners_of(const PartView& part) { return static_cast<std::size_t>(roles_of(part).owners); }
std::size_t bytes_of_map_of_data(const PartView& part) {
  return (kernels::BlockGrid{part.count, arguments_of(part).block}.count() + 7) / 8;
}
std::size_t bytes_of_messages(const PartView& part) { return owners_of(part) * bytes_of_message(part); }
std::size_t elements_of_data(const PartView& part) {
  return brings_list(part) ? most_listed(part) : owners_of(part) * most_elements(part);
}
std::size_t elements_of_own(const PartView& part) {
  return brings_list(part) ? most_listed(part) : most_elements(part);
}

constexpr BufferInfo map_of_data = {.element = Dtype::U8, .capacity = bytes_of_map_of_data, .memory = MemoryKind::Host};
constexpr BufferInfo messages_to_owners = {
    .element = Dtype::U8, .capacity = bytes_of_messages, .memory = MemoryKind::Host};

/// Sends each other owner the set of the own blocks in its shard, and these blocks. Returns what stays here.
Brought send_to_owners(GraphBuilder& g) {
  const OwnList list = own_list(g);
  const Region sets = g.buffer(sets_of_owners), messages = g.buffer(messages_to_owners),
               packed = g.buffer({.capacity = elements_of_data});
  std::vector<Rank> owners;
  std::vector<Value> begins, bytes, offsets, elements;
  std::vector<Region> rooms;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank owner = position_at(g.position(), distance, g.size());
    if (!roles_of(g).is_owner(owner)) continue;
    owners.push_back(owner);
    begins.push_back(g.value());
    bytes.push_back(g.value());
    offsets.push_back(g.value());
    elements.push_back(elements_between(g, g.position(), owner));
    rooms.push_back(GraphBuilder::counted(packed, elements.back(), offsets.back()));
  }
  g.kernel(FindBlocks{.data = own_data(g),
                      .list = list.sort,
                      .all = g.buffer(map_of_data),
                      .sets = sets,
                      .messages = messages,
                      .begins = begins,
                      .bytes = bytes,
                      .offsets = offsets,
                      .elements = elements});
  if (!rooms.empty()) rooms = g.disjoint(rooms);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    g.send(GraphBuilder::counted(messages, bytes[i], begins[i]), owners[i]);
    g.kernel(PackBlocks{.data = own_data_for(g, owners[i]),
                        .list = list.pack,
                        .set = set_of_owner(g, sets, owners[i]),
                        .packed = rooms[i],
                        .owner = owners[i]});
    g.send(rooms[i], owners[i]);
  }
  return {.set = roles_of(g).is_owner(g.position()) ? set_of_owner(g, sets, g.position()) : Region(),
          .list = list.pack};
}

/// Finds and packs the own blocks, for all others.
struct TakeOwn {
  static constexpr std::string_view name = "take blocks";
  Data data;
  OwnList list;  ///< if there is one, it has the blocks, instead of the data
  Write set, message, packed;
  Define bytes;
  Defines outgoing;

  Status operator()(const KernelCall& call) const {
    const Rank me = call.part.position;
    const BlockGrid grid = shard_of(call.part, me);
    BlockSet own;
    {
      const Stopwatch watch(call, measure::find_time);
      if (!brings_list(call.part)) {
        find(call, data.of(me), grid, map_in(set->data));
      } else if (Status sound = list.sort.write_maps(call, set->data); !sound) {
        return sound;
      }
      own = complete(call, me, set->data);
      if (brings_list(call.part)) list.sort.run(call, set->data);
      *bytes = write_set(own, grid.count(), message->data);
      std::fill(outgoing.begin(), outgoing.end(), elements_of(own, grid));
    }
    const Stopwatch watch(call, measure::pack_time);
    if (brings_list(call.part)) {
      list.pack.run(call, me, packed->data);
    } else {
      call.backend.take_blocks(source_of(data.of(me)), grid, own, packed->data);
    }
    return {};
  }
};

}  // namespace

Owned collect(GraphBuilder& g) {
  const Roles roles = roles_of(g);
  const Brought own = roles.brings(g.position()) ? send_to_owners(g) : Brought();
  return roles.is_owner(g.position()) ? reduce_own_shard(g, own) : Owned();
}

Owned take_own(GraphBuilder& g) {
  Owned own{
      .set = g.buffer(one_set), .message = g.buffer(one_message), .packed = g.buffer({.capacity = elements_of_own})};
  for (Rank distance = 1; distance < g.size(); ++distance) {
    own.outgoing.push_back(elements_between(g, g.position(), position_at(g.position(), distance, g.size())));
  }
  const Value bytes = g.value();
  g.kernel(TakeOwn{.data = own_data(g),
                   .list = own_list(g),
                   .set = own.set,
                   .message = own.message,
                   .packed = own.packed,
                   .bytes = bytes,
                   .outgoing = own.outgoing});
  own.message = GraphBuilder::counted(own.message, bytes);
  return own;
}

}  // namespace lacuna::block
