#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "algorithms/ok_topk/state.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

using sparse::List;
using sparse::Range;
using sparse::ranks_of;

/// Returns the most entries that a rank holds after blocks are balanced.
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

/// Tells which entries of the result each rank holds before blocks are balanced, and which it holds after that.
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

/// Ports of the sizes of all blocks, and the own block.
struct OwnBlock {
  Read sizes, places, values;

  Blocks blocks(const PartView& part) const { return {*sizes, part}; }
  /// Returns the entries of the own block that this rank will hold.
  List share_of(const PartView& part, Rank rank) const {
    const Blocks all = blocks(part);
    const Numbers own = all.of(part.position), share = common(own, all.balanced(rank));
    return List::of(*places, *values, share.begin - own.begin, share.end - own.begin);
  }
};

/// Packs the share of the rank at a distance. The message is empty if that rank gets nothing of the own block.
struct PackShare {
  static constexpr std::string_view name = "pack";
  OwnBlock own;
  sparse::WriteMessage message;
  Rank distance;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::pack_time);
    const List share = own.share_of(call.part, sparse::rank_at(call.part, distance));
    if (share.count == 0) return {};
    sparse::write_message(call, share.all(), sparse::all_places(call.part), message);
    return {};
  }
};

/// Adds what a rank has sent of its block. There must be as many entries as the sizes of the blocks say.
Status add_share(const KernelCall& call, const Blocks& blocks, const Extent& message, Rank from, sparse::Views& views) {
  const Numbers expected = common(blocks.of(from), blocks.balanced(call.part.position));
  const std::size_t entries = expected.end - expected.begin;
  if (entries == 0 && message.count == 0) return {};
  if (Status sound = views.add_message(call, message, from, sparse::all_places(call.part)); !sound) return sound;
  if (views.views().back().entries == entries) return {};
  return {Code::Mismatch, fmt::format("the message of rank {}: {} to balance blocks, must be {}", from,
                                      count_of(views.views().back().entries, "entry"), entries)};
}

struct JoinShares {
  static constexpr std::string_view name = "join shares";
  OwnBlock own;
  Reads messages;  ///< by distance, from 1 on
  sparse::MergeRooms rooms;
  sparse::WriteMessage message;

  Status operator()(const KernelCall& call) const {
    const Blocks blocks = own.blocks(call.part);
    const Range all = sparse::all_places(call.part);
    sparse::Views views = sparse::Views::of(rooms, call.part, all);
    for (Rank from = 0; from < call.part.size; ++from) {
      const std::size_t distance = sparse::distance_to(call.part, from);
      const Status sound = distance == 0 ? views.add(call, own.share_of(call.part, from).all(), from)
                                         : add_share(call, blocks, messages[distance - 1], from, views);
      if (!sound) return sound;
    }
    return sparse::merge(call, rooms, views, all, {}, message);
  }
};

}  // namespace

void gather_balanced(GraphBuilder& g, const sparse::Selection& block) {
  const OwnBlock own{sizes_room(g), block.places, block.values};
  const BufferInfo share{.element = Dtype::U8, .capacity = share_bytes};
  std::vector<Region> rooms, shares;
  for (Rank i = 0; i < std::min(form_of(g).bucket, g.size() - 1); ++i) rooms.push_back(g.buffer(share));
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const auto message = sparse::message_in(g, rooms[static_cast<std::size_t>(distance - 1) % rooms.size()]);
    g.kernel(PackShare{.own = own, .message = message, .distance = distance});
    g.send(message.region(), g.position() + distance);
    shares.push_back(sparse::receive_message(g, g.position() - distance));
  }
  const sparse::MergeRooms merging = sparse::merge_rooms(g, most_of_share);
  const auto joined = sparse::message_in(g, g.buffer(share));
  g.kernel(JoinShares{.own = own, .messages = std::move(shares), .rooms = merging, .message = joined});
  sparse::join_in_output(g, sparse::exchange(g, joined.region()));
}

}  // namespace lacuna::ok
