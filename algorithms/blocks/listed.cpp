#include "algorithms/blocks/listed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/values/count_of.hpp"

namespace lacuna::block {
namespace {

using kernels::BlockGrid;
using kernels::BlockSet;

/// The shards that have blocks of the own data: all, or in allgather the own one.
std::size_t shards_of(const PartView& part) {
  return part.call.collective == Collective::Allgather ? 1 : static_cast<std::size_t>(roles_of(part).owners);
}
std::size_t index_of(const PartView& part, Rank owner) {
  return part.call.collective == Collective::Allgather ? 0 : static_cast<std::size_t>(roles_of(part).number(owner));
}
std::size_t blocks_of_shard(const PartView& part, std::size_t index) {
  const bool is_own = part.call.collective == Collective::Allgather;
  return shard_of(part, is_own ? part.position : roles_of(part).first_owner() + static_cast<Rank>(index)).count();
}

/// How many blocks the buffer has to which places refer.
std::size_t places_of(const PartView& part, Holds buffer) {
  const std::size_t blocks = part.call.count / arguments_of(part).block;
  return buffer == Holds::Blocks ? blocks * static_cast<std::size_t>(part.size) : blocks;
}

/// Where a block of the own data lies in the shards, or nothing if it is not in this part.
std::optional<Dealt> find_in_shards(const PartView& part, std::size_t place) {
  const std::size_t length = arguments_of(part).block, first = part.part.data.offset / length;
  Rank owner = part.position;
  if (part.call.collective == Collective::ReduceScatter) {
    const std::size_t blocks = part.call.count / length;
    owner = static_cast<Rank>(place / blocks);
    place %= blocks;
  }
  if (place < first || place - first >= part.count / length) return {};
  if (has_blocks(part.call.collective)) return Dealt{owner, place - first};
  return dealt(part, roles_of(part), place - first);
}

/// The number, in the result, of a block of a shard.
std::size_t place_in_result(const PartView& part, Rank owner, const BlockGrid& shard, std::size_t block) {
  const std::size_t place = shard.begin(block) / shard.length;
  if (traits_of(part.call.collective).output != Holds::Blocks) return place;
  return place + static_cast<std::size_t>(owner) * (part.call.count / shard.length);
}

void add_bit(std::byte* map, std::size_t bit) { map[bit / 8] |= std::byte{1} << bit % 8; }

std::uint32_t* numbers_in(const Write& table) { return reinterpret_cast<std::uint32_t*>(table->data); }
const std::uint32_t* numbers_in(const Read& table) { return reinterpret_cast<const std::uint32_t*>(table->data); }

/// Stands for the number of an entry that is in another part.
constexpr std::uint32_t elsewhere = 4294967295;

bool gets_list(const PartView& part) { return form_of(part).listed && roles_of(part).gets(part.position); }
std::size_t entries_of(const PartView& part) { return part.call.input_entries.count; }
std::size_t numbers_of_begins(const PartView& part) { return brings_list(part) ? entries_of(part) + 2 : 0; }
std::size_t numbers_of_firsts(const PartView& part) { return brings_list(part) ? shards_of(part) + 1 : 0; }

BufferInfo table_of(std::size_t (*numbers)(const PartView& part)) {
  return {.element = Dtype::I32, .capacity = numbers, .memory = MemoryKind::Host};
}

}  // namespace

std::size_t most_listed_of_shard(const PartView& part) {
  return std::min(entries_of(part), most_blocks(part)) * arguments_of(part).block;
}
std::size_t most_listed(const PartView& part) {
  return std::min(entries_of(part), shards_of(part) * most_blocks(part)) * arguments_of(part).block;
}

Status SortEntries::write_maps(const KernelCall& call, std::byte* sets) const {
  const PartView& part = call.part;
  const std::size_t entries = entries_of(part), blocks = places_of(part, traits_of(part.call.collective).input);
  std::uint32_t* const place = numbers_in(numbers);
  call.backend.copy_bytes(places->data, places->bytes(), numbers->data);
  std::memset(sets, 0, shards_of(part) * bytes_of_set(part));
  for (std::size_t i = 0; i < entries; ++i) {
    if (place[i] >= blocks) {
      return {Code::InvalidArgument, fmt::format("entry {} of the input has the place {}, must be less than the number "
                                                 "of blocks, {}",
                                                 i, place[i], blocks)};
    }
    if (const auto at = find_in_shards(part, place[i])) {
      add_bit(map_in(sets + index_of(part, at->owner) * bytes_of_set(part)), at->block);
    }
  }
  return {};
}

void SortEntries::run(const KernelCall& call, const std::byte* sets) const {
  const PartView& part = call.part;
  const std::size_t entries = entries_of(part), shards = shards_of(part);
  std::uint32_t *const number = numbers_in(numbers), *const begin = numbers_in(begins),
                       *const first = numbers_in(firsts);
  first[0] = 0;
  for (std::size_t i = 0; i < shards; ++i) {
    const std::size_t blocks = blocks_of_shard(part, i);
    first[i + 1] =
        first[i] + static_cast<std::uint32_t>(size_of(set_in(sets + i * bytes_of_set(part), blocks), blocks));
  }
  const std::size_t listed = first[shards];
  std::fill_n(begin, listed + 2, 0u);
  for (std::size_t i = 0; i < entries; ++i) {
    const auto at = find_in_shards(part, number[i]);
    number[i] = elsewhere;
    if (!at) continue;
    const std::size_t shard = index_of(part, at->owner);
    const BlockSet set = set_in(sets + shard * bytes_of_set(part), blocks_of_shard(part, shard));
    number[i] = first[shard] + rank_in(set, at->block);
    ++begin[number[i] + 2];
  }
  // begin[k + 1] is where block k begins, and moves on with each of its entries, to where block k + 1 begins.
  for (std::size_t k = 2; k < listed + 2; ++k) begin[k] += begin[k - 1];
  for (std::size_t i = 0; i < entries; ++i) {
    if (number[i] != elsewhere) numbers_in(order)[begin[number[i] + 1]++] = static_cast<std::uint32_t>(i);
  }
}

void PackEntries::run(const KernelCall& call, Rank owner, std::byte* packed) const {
  const std::uint32_t* const first = numbers_in(firsts) + index_of(call.part, owner);
  call.backend.sum_rows(values->dtype, values->data, arguments_of(call.part).block, first[1] - first[0],
                        numbers_in(begins) + first[0], numbers_in(order), packed);
}

Value elements_between(GraphBuilder& g, Rank from, Rank to) {
  return form_of(g).listed ? g.value() : g.paired(from, to);
}

Region room_of_all(GraphBuilder& g, std::size_t (*elements)(const PartView& part)) {
  return form_of(g).listed ? Region() : g.buffer({.capacity = elements});
}

void Arriving::expect(GraphBuilder& g, Rank from, const Region& room) {
  if (room.is_signal()) return;
  offsets.push_back(g.value());
  elements.push_back(g.paired(from, g.position()));
  packed.push_back(GraphBuilder::counted(room, elements.back(), offsets.back()));
}

void Arriving::receive(GraphBuilder& g, const std::vector<Rank>& from) {
  const bool stay = packed.empty();
  if (!stay) packed = g.disjoint(packed);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!stay) g.receive(packed[i], from[i]);
    if (stay) packed.push_back(g.receive_landed(from[i], {.capacity = most_elements}));
  }
}

Status check_packed(const Extent& packed, Rank from, std::size_t elements) {
  if (packed.count == elements) return {};
  return {Code::Mismatch, fmt::format("the message of rank {}: its blocks have {}, must be {}", from,
                                      count_of(packed.count, "element"), elements)};
}

Status check_room(const PartView& part, std::size_t entries, bool of_all) {
  const OutputEntries& asked = part.call.output_entries;
  if (!gets_list(part) || entries <= asked.room) return {};
  return {Code::InvalidArgument, fmt::format("the result has {}{}, the output has room for {}",
                                             of_all ? "" : "at least ", count_of(entries, "entry"), asked.room)};
}

std::size_t most_of_result(const PartView& part) {
  if (!gets_list(part)) return most_elements(part);
  return std::min(most_blocks(part), part.call.output_entries.room) * arguments_of(part).block;
}

OwnList own_list(GraphBuilder& g) {
  const sparse::ReadInputEntries brought = sparse::input_entries(g);
  const Region numbers = g.buffer(table_of(entries_of)), begins = g.buffer(table_of(numbers_of_begins)),
               order = g.buffer(table_of(entries_of)), firsts = g.buffer(table_of(numbers_of_firsts));
  return {.sort = {.places = brought.places, .numbers = numbers, .begins = begins, .order = order, .firsts = firsts},
          .pack = {.values = brought.values, .begins = begins, .order = order, .firsts = firsts}};
}

namespace {

/// Writes the blocks of all owners, in the order of their places.
struct ListBlocks {
  static constexpr std::string_view name = "list blocks";
  Reads packed;                ///< of the other owners, by distance before the own position
  Read sets{};                 ///< of all other owners
  Read own_packed, own_set{};  ///< empty if the position is no owner
  Write united, chosen;        ///< sets of blocks of the result: all, and those of an owner
  Write numbers;               ///< the places, on the host
  Write places, values, count;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::place_time);
    const PartView& part = call.part;
    const std::size_t length = arguments_of(part).block;
    const std::size_t blocks = places_of(part, traits_of(part.call.collective).output);
    std::memset(united->data, 0, united->bytes());
    Status whole;
    each_owner(part, [&](Rank owner, const BlockGrid& shard, const std::byte* set, const Extent& from) {
      if (owner != part.position && whole) {
        whole = check_packed(from, owner, elements_of(set_in(set, shard.count()), shard));
      }
      each_bit(set, shard.count(),
               [&](std::size_t b) { add_bit(united->data, place_in_result(part, owner, shard, b)); });
    });
    if (!whole) return whole;
    complete_set(call.backend, united->data, blocks);
    const BlockSet all = set_in(united->data, blocks);
    const std::uint64_t found = size_of(all, blocks);
    call.measures.tell(measure::result, static_cast<double>(found));
    call.measures.tell(measure::result_elements, static_cast<double>(found * length));
    std::memcpy(count->data, &found, sizeof(found));
    if (Status fits = check_room(part, found, true); !fits) return fits;
    std::uint32_t* number = numbers_in(numbers);
    each_bit(all.map, blocks, [&](std::size_t place) { *number++ = static_cast<std::uint32_t>(place); });
    call.backend.copy_bytes(numbers->data, found * sizeof(*number), places->data);
    const BlockGrid grid{.elements = found * length, .length = length};
    each_owner(part, [&](Rank owner, const BlockGrid& shard, const std::byte* set, const Extent& from) {
      std::memset(chosen->data, 0, set_bytes(found));
      each_bit(set, shard.count(),
               [&](std::size_t b) { add_bit(chosen->data, rank_in(all, place_in_result(part, owner, shard, b))); });
      complete_set(call.backend, chosen->data, found);
      call.backend.put_blocks(from.data, grid, set_in(chosen->data, found), false,
                              {values->dtype, values->data, grid.elements});
    });
    return {};
  }

  /// Calls visit(owner, its shard, the map of its set, its packed blocks).
  template <class Visit>
  void each_owner(const PartView& part, const Visit& visit) const {
    if (own_set) visit(part.position, shard_of(part, part.position), own_set->data, *own_packed);
    std::size_t i = 0;
    for (Rank distance = 1; distance < part.size && i < packed.size(); ++distance) {
      const Rank owner = position_at(part.position, -distance, part.size);
      if (!roles_of(part).is_owner(owner)) continue;
      visit(owner, shard_of(part, owner), set_at(part, sets->data, owner), packed[i++]);
    }
  }
};

std::size_t bytes_of_result_set(const PartView& part) {
  return set_bytes(places_of(part, traits_of(part.call.collective).output));
}
/// The most entries that fit and that the result can have.
std::size_t room_of(const PartView& part) {
  return std::min(part.call.output_entries.room, places_of(part, traits_of(part.call.collective).output));
}
std::size_t bytes_of_chosen(const PartView& part) { return set_bytes(room_of(part)); }

}  // namespace

void list_result(GraphBuilder& g, const Others& others, const Owned& own) {
  const sparse::OutputList list = sparse::output_list(g);
  g.kernel(ListBlocks{
      .packed = others.packed,
      .sets = others.sets,
      .own_packed = own.packed,
      .own_set = own.set,
      .united = g.buffer({.element = Dtype::U8, .capacity = bytes_of_result_set, .memory = MemoryKind::Host}),
      .chosen = g.buffer({.element = Dtype::U8, .capacity = bytes_of_chosen, .memory = MemoryKind::Host}),
      .numbers = g.buffer(table_of(room_of)),
      .places = list.places,
      .values = list.values,
      .count = list.count});
}

}  // namespace lacuna::block
