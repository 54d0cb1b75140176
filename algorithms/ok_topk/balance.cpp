#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "algorithms/ok_topk/state.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

using sparse::List;
using sparse::Range;

std::size_t ranks_of(const PartView& part) { return static_cast<std::size_t>(part.size); }

/// The most entries that a rank holds after blocks are balanced.
std::size_t most_of_share(const PartView& part) { return sparse::most_selected(part) + 1; }
std::size_t share_bytes(const PartView& part) {
  return sparse::longest_message(part, most_of_share(part), sparse::places_of(part));
}

/// Entries [begin, end) of the result. They are numbered in the order of their places.
struct Numbers {
  std::size_t begin, end;
};
Numbers common(const Numbers& a, const Numbers& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Which entries of the result each rank holds before blocks are balanced, and which it holds then.
class Blocks {
 public:
  Blocks(const Extent& sizes, const PartView& part)
      : sizes_(reinterpret_cast<const std::uint64_t*>(sizes.data), ranks_of(part)),
        total_(std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0})) {}

  std::size_t total() const { return total_; }
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

/// The entries of the own block that the rank will hold.
List share_of(const KernelCall& call, const Blocks& blocks, Rank rank) {
  const Numbers own = blocks.of(call.part.position), share = common(own, blocks.balanced(rank));
  return List::of(call.reads[1], call.reads[2], share.begin - own.begin, share.end - own.begin);
}

/// Packs the share of the rank at distance given[0]. The message is empty if that rank gets nothing of the own block.
Status pack_share(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::pack_time);
  const Blocks blocks(call.reads[0], call.part);
  const List share = share_of(call, blocks, sparse::rank_at(call.part, call.given[0]));
  call.defines[0] = 0;
  if (share.count == 0) return {};
  call.defines[0] = sparse::write_message(call, share.all(), sparse::all_places(call.part), call.writes[0].data);
  return {};
}

/// Adds what the rank has sent of its block. It must be as many entries as its size says.
Status add_share(const KernelCall& call, const Blocks& blocks, Rank from, sparse::Views& views) {
  const Numbers expected = common(blocks.of(from), blocks.balanced(call.part.position));
  const std::size_t entries = expected.end - expected.begin;
  const Extent& message = call.reads[2 + sparse::distance_to(call.part, from)];
  if (entries == 0 && message.count == 0) return {};
  if (Status sound = views.add_message(call, message, from, sparse::all_places(call.part)); !sound) return sound;
  if (views.views().back().entries == entries) return {};
  return {Code::Mismatch, fmt::format("the message of rank {}: {} to balance blocks, must be {}", from,
                                      count_of(views.views().back().entries, "entry"), entries)};
}

/// Joins the shares of all ranks. The reads are the sizes, the own block, and the messages by distance from 1 on.
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

constexpr Kernel pack_share_kernel = {"pack", pack_share}, join_shares_kernel = {"join shares", join_shares};

}  // namespace

void gather_balanced(GraphBuilder& g, const sparse::Selection& block) {
  std::vector<Region> rooms, reads = {sizes_room(g), block.places, block.values};
  const BufferInfo share{.element = Dtype::U8, .capacity = share_bytes};
  for (Rank i = 0; i < std::min(form_of(g).bucket, g.size() - 1); ++i) rooms.push_back(g.buffer(share));
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
