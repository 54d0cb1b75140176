#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "algorithms/ok_topk/state.hpp"

namespace lacuna::ok {
namespace {

using sparse::List;
using sparse::Range;

std::size_t ranks_of(const PartView& part) { return static_cast<std::size_t>(part.size); }

/// How long the block of each rank is, and at last how many entries this one has selected.
std::size_t words_of_sizes(const PartView& part) { return ranks_of(part) + 1; }
Region sizes_room(GraphBuilder& g) {
  return g.buffer({.role = Role::Kept, .element = Dtype::I64, .capacity = words_of_sizes, .name = "sizes"});
}
/// Of the entries of the result, of which no rank brings more than it selects of each other.
std::size_t most_of_share(const PartView& part) { return sparse::most_selected(part) + 1; }
std::size_t share_bytes(const PartView& part) {
  return sparse::longest_message(part, most_of_share(part), sparse::places_of(part));
}
Region size_at(GraphBuilder& g, Rank i) { return sparse::piece_of(sizes_room(g), i, g.size() + 1); }

/// Entries of the result, numbered through in the order of their places.
struct Numbers {
  std::size_t begin, end;
};
Numbers common(const Numbers& a, const Numbers& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Which of them ranks hold before blocks are balanced, and then.
class Blocks {
 public:
  Blocks(const Extent& sizes, const PartView& part)
      : sizes_(reinterpret_cast<const std::uint64_t*>(sizes.data), ranks_of(part)),
        total_(std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0})) {}

  std::size_t total() const { return total_; }
  std::size_t largest() const { return *std::max_element(sizes_.begin(), sizes_.end()); }
  Numbers of(Rank rank) const {
    const auto own = sizes_.begin() + rank;
    const std::size_t begin = std::accumulate(sizes_.begin(), own, std::size_t{0});
    return {begin, begin + *own};
  }
  Numbers balanced(Rank rank) const {
    const auto i = static_cast<std::size_t>(rank);
    return {boundary(i, total_, sizes_.size()), boundary(i + 1, total_, sizes_.size())};
  }

 private:
  std::span<const std::uint64_t> sizes_;
  std::size_t total_;
};

Status tell(const KernelCall& call) {
  for (std::size_t i = 0; i < 2; ++i) std::memcpy(call.writes[i].data, &call.uses[i], sizeof(std::uint64_t));
  return {};
}

/// No block is longer than what all ranks may have selected in a range, nor all of them than in all.
Status check_sizes(const KernelCall& call) {
  const auto* sizes = reinterpret_cast<const std::uint64_t*>(call.reads[0].data);
  std::uint64_t left = ranks_of(call.part) * sparse::most_selected(call.part);
  for (Rank rank = 0; rank < call.part.size; ++rank) {
    const std::uint64_t most = std::min<std::uint64_t>(left, sparse::most_merged(call.part));
    if (sizes[rank] > most) {
      return {Code::Mismatch,
              fmt::format("the message of rank {}: a block of {} entries, must be 0 .. {}", rank, sizes[rank], most)};
    }
    left -= sizes[rank];
  }
  return {};
}

Status weigh(const KernelCall& call) {
  if (Status sound = check_sizes(call); !sound) return sound;
  const Blocks blocks(call.reads[0], call.part);
  call.defines[0] = blocks.total();
  call.defines[1] = blocks.largest();
  return {};
}

Status remember(const KernelCall& call) {
  const auto* sizes = reinterpret_cast<const std::uint64_t*>(call.reads[0].data);
  const Blocks blocks(call.reads[0], call.part);
  call.defines[0] = sizes[call.part.size];
  call.defines[1] = sizes[call.part.position];
  call.defines[2] = blocks.total();
  call.defines[3] = blocks.largest();
  return {};
}

/// Of the own block, what the rank will hold.
List share_of(const KernelCall& call, const Blocks& blocks, Rank rank) {
  const Numbers own = blocks.of(call.part.position), share = common(own, blocks.balanced(rank));
  return List::of(call.reads[1], call.reads[2], share.begin - own.begin, share.end - own.begin);
}

/// For the rank at distance given[0]; nothing, where that is to hold nothing of the own block.
Status pack_share(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::Measure::PackSeconds);
  const Blocks blocks(call.reads[0], call.part);
  const List share = share_of(call, blocks, sparse::rank_at(call.part, call.given[0]));
  call.defines[0] = 0;
  if (share.count == 0) return {};
  call.defines[0] = sparse::write_message(call, share.all(), sparse::all_places(call.part), call.writes[0].data);
  return {};
}

/// What the rank has sent of its block, which must be what its size says.
Status add_share(const KernelCall& call, const Blocks& blocks, Rank from, sparse::Views& views) {
  const Numbers expected = common(blocks.of(from), blocks.balanced(call.part.position));
  const std::size_t entries = expected.end - expected.begin;
  const Extent& message = call.reads[2 + sparse::distance_to(call.part, from)];
  if (entries == 0 && message.count == 0) return {};
  if (Status sound = views.add_message(call, message, from, sparse::all_places(call.part)); !sound) return sound;
  if (views.views().back().entries == entries) return {};
  return {Code::Mismatch, fmt::format("the message of rank {}: {} entries to balance blocks, must be {}", from,
                                      views.views().back().entries, entries)};
}

/// Messages by distance, from 1 on, follow the sizes and the own block.
Status join_shares(const KernelCall& call) {
  const Blocks blocks(call.reads[0], call.part);
  const Range all = sparse::all_places(call.part);
  sparse::Views views = sparse::Views::of(call, all);
  for (Rank from = 0; from < call.part.size; ++from) {
    const bool own = from == call.part.position;
    const Status sound =
        own ? views.add(share_of(call, blocks, from).all(), from) : add_share(call, blocks, from, views);
    if (!sound) return sound;
  }
  return sparse::merge(call, views, all, {});
}

constexpr Kernel tell_kernel = {"tell size", tell}, weigh_kernel = {"weigh blocks", weigh},
                 remember_kernel = {"recall", remember}, pack_share_kernel = {"pack", pack_share},
                 join_shares_kernel = {"join shares", join_shares};

}  // namespace

Region shared_places(GraphBuilder& g) {
  BufferInfo info{.element = Dtype::I32, .capacity = sparse::most_selected};
  if (stage_of(g) != Stage::Whole) {
    info.role = Role::Kept;
    info.name = "selected places";
  }
  return g.buffer(info);
}

sparse::Selection shared_list(GraphBuilder& g) {
  BufferInfo places{.element = Dtype::I32, .capacity = sparse::most_merged}, values{.capacity = sparse::most_merged};
  if (stage_of(g) != Stage::Whole) {
    places.role = values.role = Role::Kept;
    places.name = "block places";
    values.name = "block values";
  }
  return {.places = g.buffer(places), .values = g.buffer(values)};
}

void tell_size(GraphBuilder& g, const Reduced& reduced) {
  const Rank me = g.position();
  g.kernel(tell_kernel,
           {.writes = {size_at(g, me), size_at(g, g.size())}, .uses = {reduced.block.count, reduced.count}});
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(size_at(g, me), me + distance);
    const Rank from = (me + g.size() - distance) % g.size();
    g.receive(size_at(g, from), from);
  }
  const Value total = g.agreed(), largest = g.agreed();
  g.kernel(weigh_kernel, {.reads = {sizes_room(g)}, .defines = {total, largest}});
  g.decide({total, largest});
}

Told recall(GraphBuilder& g) {
  Told told{.reduced = {.places = shared_places(g), .count = g.value(), .ranges = {}, .block = shared_list(g)},
            .sizes = {}};
  if (stage_of(g) == Stage::Gather) told.reduced.ranges = last_ranges(g);
  told.reduced.block.count = g.value();
  told.sizes = {.total = g.value(), .largest = g.value()};
  g.kernel(remember_kernel,
           {.reads = {sizes_room(g)},
            .defines = {told.reduced.count, told.reduced.block.count, told.sizes.total, told.sizes.largest}});
  return told;
}

void gather_balanced(GraphBuilder& g, const sparse::Selection& block) {
  std::vector<Region> rooms, reads = {sizes_room(g), block.places, block.values};
  const BufferInfo share{.element = Dtype::U8, .capacity = share_bytes};
  for (Rank i = 0; i < std::min(g.number(bucket), g.size() - 1); ++i) rooms.push_back(g.buffer(share));
  std::vector<Region> shares = reads;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Region& room = rooms[static_cast<std::size_t>(distance - 1) % rooms.size()];
    const Value bytes = g.value();
    g.kernel(pack_share_kernel, {.reads = reads, .writes = {room}, .defines = {bytes}, .given = {distance}});
    g.send(GraphBuilder::counted(room, bytes), g.position() + distance);
    shares.push_back(sparse::receive_message(g, g.position() - distance));
  }
  const sparse::MergeRooms joined{sparse::list_rooms(g, most_of_share), g.buffer(share)};
  const Value bytes = g.value();
  g.kernel(join_shares_kernel, {.reads = shares, .writes = joined.regions(), .defines = {bytes}});
  sparse::join_in_output(g, sparse::exchange(g, GraphBuilder::counted(joined.message, bytes)));
}

}  // namespace lacuna::ok
