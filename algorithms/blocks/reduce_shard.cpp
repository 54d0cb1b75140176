#include <algorithm>
#include <cstring>

#include "algorithms/blocks/listed.hpp"

namespace lacuna::block {
namespace {

using kernels::BlockGrid;
using kernels::BlockSet;

/// Reads which blocks of the own shard come from each position, and unites these sets.
struct ReadSets {
  static constexpr std::string_view name = "read sets";
  Reads messages;             ///< of the others that bring blocks, by distance before the own position
  Read own{};                 ///< the own set; empty if this position brings none
  Write sets;                 ///< of all positions
  Write united, message;      ///< the union, and its message
  Defines offsets, incoming;  ///< of the packed blocks that come, like `messages`, unless they stay where they land
  Define bytes;               ///< of the union's message
  Defines outgoing;           ///< elements of the union, for each position that gets them

  Status operator()(const KernelCall& call) const {
    const PartView& part = call.part;
    const BlockGrid grid = shard_of(part, part.position);
    const std::size_t blocks = grid.count(), stride = bytes_of_set(part);
    const auto at = [&](Rank rank) { return sets->data + static_cast<std::size_t>(rank) * stride; };
    std::memset(united->data, 0, stride);
    std::size_t i = 0, offset = 0;
    for (Rank distance = 1; distance < part.size && i < messages.size(); ++distance) {
      const Rank from = position_at(part.position, -distance, part.size);
      if (!roles_of(part).brings(from)) continue;
      if (Status sound = read_set(call.backend, messages[i], from, blocks, at(from)); !sound) return sound;
      call.backend.unite_bits(united->data, map_in(at(from)), blocks);
      if (!incoming.empty()) {
        offsets[i] = offset;
        incoming[i] = elements_of(set_in(at(from), blocks), grid);
        offset += incoming[i];
      }
      ++i;
    }
    if (own) {
      std::memcpy(at(part.position), own->data, stride);
      call.backend.unite_bits(united->data, own->data, blocks);
    }
    complete_set(call.backend, united->data, blocks);
    const BlockSet all = set_in(united->data, blocks);
    if (Status fits = check_room(part, size_of(all, blocks), outgoing.size() == 0); !fits) return fits;
    *bytes = write_set(all, blocks, message->data);
    std::fill(outgoing.begin(), outgoing.end(), elements_of(all, grid));
    return {};
  }
};

/// Reduces the blocks of all positions in the order of the ranks.
struct ReduceBlocks {
  static constexpr std::string_view name = "reduce blocks";
  Data data{};         ///< the own data; empty if this position brings none
  PackEntries list{};  ///< the own list
  Write own_packed{};  ///< the own blocks, if they come from a list
  Reads arrived;       ///< the packed blocks of the others that bring some, by distance before the own position
  Read sets, united;
  Write sources, packed;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::reduce_time);
    const PartView& part = call.part;
    const BlockGrid grid = shard_of(part, part.position);
    auto* const all = reinterpret_cast<kernels::BlockSource*>(sources->data);
    std::size_t count = 0;
    for (Rank rank = 0; rank < part.size; ++rank) {
      if (!roles_of(part).brings(rank)) continue;
      const std::byte* const at = sets->data + static_cast<std::size_t>(rank) * bytes_of_set(part);
      all[count++] = {.set = set_in(at, grid.count())};
      kernels::BlockSource& source = all[count - 1];
      if (rank != part.position) {
        const Extent& blocks = arrived[index_of(part, rank)];
        if (Status whole = check_packed(blocks, rank, elements_of(source.set, grid)); !whole) return whole;
        source.data = blocks.data;
      } else if (brings_list(part)) {
        list.run(call, rank, own_packed->data);
        source.data = own_packed->data;
      } else {
        source.data = data.of(rank).data;
        source.is_packed = false;
      }
    }
    const SumScale scale = scale_of(part);
    call.backend.reduce_blocks({all, count}, {.reduction = part.call.reduction,
                                              .scale = scale.sum,
                                              .dtype = packed->dtype,
                                              .grid = grid,
                                              .result = set_in(united->data, grid.count()),
                                              .out = packed->data,
                                              .term = scale.second});
    if (data.is_kept()) {
      const Extent& own = data.of(part.position);
      const std::byte* const at = sets->data + static_cast<std::size_t>(part.position) * bytes_of_set(part);
      call.backend.clear_blocks(grid, set_in(at, grid.count()), {own.dtype, own.data, own.count});
    }
    return {};
  }

  /// The place of another rank in `arrived`.
  static std::size_t index_of(const PartView& part, Rank rank) {
    const Roles roles = roles_of(part);
    std::size_t index = 0;
    for (Rank distance = 1; position_at(part.position, -distance, part.size) != rank; ++distance) {
      index += roles.brings(position_at(part.position, -distance, part.size)) ? 1 : 0;
    }
    return index;
  }
};

std::size_t ranks_of(const PartView& part) { return static_cast<std::size_t>(part.size); }
std::size_t bytes_of_sets(const PartView& part) { return ranks_of(part) * bytes_of_set(part); }
std::size_t bytes_of_sources(const PartView& part) { return ranks_of(part) * sizeof(kernels::BlockSource); }
std::size_t elements_from_ranks(const PartView& part) { return ranks_of(part) * most_elements(part); }

constexpr BufferInfo sets_of_ranks = {.element = Dtype::U8, .capacity = bytes_of_sets, .memory = MemoryKind::Host};
constexpr BufferInfo sources_of_ranks = {
    .element = Dtype::U8, .capacity = bytes_of_sources, .memory = MemoryKind::Host};

}  // namespace

Owned reduce_own_shard(GraphBuilder& g, const Brought& own) {
  const Roles roles = roles_of(g);
  Owned result{
      .set = g.buffer(one_set), .message = g.buffer(one_message), .packed = g.buffer({.capacity = most_of_result})};
  const Region sets = g.buffer(sets_of_ranks), room = room_of_all(g, elements_from_ranks);
  std::vector<Rank> senders;
  std::vector<Region> messages;
  Arriving arriving;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank from = position_at(g.position(), -distance, g.size());
    if (!roles.brings(from)) continue;
    senders.push_back(from);
    messages.push_back(g.receive_landed(from, one_message));
    arriving.expect(g, from, room);
  }
  const bool is_spread = g.collective() != Collective::ReduceScatter;
  for (Rank distance = 1; is_spread && distance < g.size(); ++distance) {
    const Rank to = position_at(g.position(), distance, g.size());
    if (roles.gets(to)) result.outgoing.push_back(elements_between(g, g.position(), to));
  }
  const Value bytes = g.value();
  g.kernel(ReadSets{.messages = messages,
                    .own = own.set,
                    .sets = sets,
                    .united = result.set,
                    .message = result.message,
                    .offsets = arriving.offsets,
                    .incoming = arriving.elements,
                    .bytes = bytes,
                    .outgoing = result.outgoing});
  result.message = GraphBuilder::counted(result.message, bytes);
  arriving.receive(g, senders);
  const bool brings = roles.brings(g.position());
  g.kernel(ReduceBlocks{.data = brings ? own_data_for(g, g.position()) : Data(),
                        .list = own.list,
                        .own_packed = brings ? g.buffer({.capacity = most_listed_of_shard}) : Region(),
                        .arrived = arriving.packed,
                        .sets = sets,
                        .united = result.set,
                        .sources = g.buffer(sources_of_ranks),
                        .packed = result.packed});
  return result;
}

}  // namespace lacuna::block
