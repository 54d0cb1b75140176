#include <algorithm>

#include "algorithms/ok_topk/selecting.hpp"
#include "algorithms/ok_topk/state.hpp"

namespace lacuna::ok {
namespace {

using sparse::List;
using sparse::Range;
using Taken = Selecting::Taken;

/// Packs what the whole selection has in the range of the rank at distance given[0].
Status pack_range(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::pack_time);
  const Range range = sparse::range_of(call.reads[0], sparse::rank_at(call.part, call.given[0]));
  const List mine = List::of(call.reads[1], call.reads[2], call.uses[0]);
  call.defines[0] = sparse::write_message(call, mine.in(range), range, call.writes[0].data);
  return {};
}

/// Finds the entries of the own range in the whole selection.
Status find_own(const KernelCall& call) {
  const Range range = sparse::range_of(call.reads[0], call.part.position);
  const List mine = List::of(call.reads[1], call.reads[2], call.uses[0]);
  const kernels::EntriesView own = mine.in(range);
  const std::size_t begin = static_cast<std::size_t>(own.places - call.reads[1].data) / sizeof(std::uint32_t);
  call.defines[0] = begin;
  call.defines[1] = begin + own.entries;
  return {};
}

/// What a step adds together, as its `given` and `uses` say.
struct Bucket {
  explicit Bucket(const KernelCall& call)
      : first(call.given[0]), is_first(call.given[1] != 0), is_last(call.given[2] != 0) {}

  std::int64_t first;      ///< the distance of the rank of the first message
  bool is_first, is_last;  ///< the first step has no sum to add to; the last one adds the own entries too
};

/// Adds messages to the sum, which has uses.front() entries. The messages are those of the ranks before the own one,
/// the nearest first. The last step also adds the own entries, from uses.end()[-2] to uses.end()[-1].
Status add_bucket(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::merge_time);
  const Bucket bucket(call);
  const Range range = sparse::range_of(call.reads[0], call.part.position);
  std::span<const Extent> messages = call.reads.subspan(1);
  sparse::Views views = sparse::Views::of(call, range);
  Status sound;
  if (!bucket.is_first) {
    sound = views.add(List::of(messages[0], messages[1], call.uses[0]).in(range), call.part.position);
    messages = messages.subspan(2);
  }
  const std::span<const Extent> mine = messages.last(bucket.is_last ? 2 : 0);
  messages = messages.first(messages.size() - mine.size());
  for (std::size_t i = 0; i < messages.size() && sound; ++i) {
    const std::int64_t distance = bucket.first + static_cast<std::int64_t>(i);
    sound = views.add_message(call, messages[i], sparse::rank_at(call.part, call.part.size - distance), range);
  }
  if (bucket.is_last && sound) {
    const std::span<const std::uint64_t> own = call.uses.last(2);
    sound = views.add(List::of(mine[0], mine[1], own[0], own[1]).in(range), call.part.position);
  }
  if (!sound) return sound;
  const Scale scale = bucket.is_last ? sparse::scale_of(call.part) : Scale();
  const auto sum = sparse::merged_list(call, views, scale, static_cast<std::size_t>(range.begin));
  if (sum) call.defines[0] = sum->count;
  return sum.status();
}

constexpr Kernel pack_range_kernel = {"pack", pack_range}, find_own_kernel = {"find own", find_own},
                 add_bucket_kernel = {"reduce range", add_bucket};

/// In round d each rank sends to the one d after it, so that none gets two messages at a time. As many are on their way
/// as there are rooms for them. Those that have come are added bucket by bucket, in the order of the rounds, while
/// others are still selected.
class Split {
 public:
  Split(GraphBuilder& g, const Region& ranges) : g_(g), ranges_(ranges), bucket_(form_of(g).bucket) {
    for (Rank i = 0; i < std::min(bucket_, g.size() - 1); ++i) rooms_.push_back(sparse::selection_room(g));
    sums_.push_back(sparse::list_rooms(g, shared_sums(g)));
    if (1 + bucket_ < g.size()) sums_.push_back(sparse::list_rooms(g));
    const Rank buckets = (g.size() - 1 + bucket_ - 1) / bucket_;
    if (buckets % 2 == 0) std::swap(sums_.front(), sums_.back());  // the last sum stands in the first
  }

  /// The room of the message to the rank at this distance.
  Region room(Rank distance) const {
    return distance == 0 ? Region() : rooms_[static_cast<std::size_t>(distance - 1) % rooms_.size()];
  }

  /// take(distance) makes what goes to the rank at that distance. `places` and `values` hold the own entries.
  sparse::Selection run(const Region& places, const Region& values, auto take) {
    for (Rank distance = 1; distance < g_.size(); ++distance) {
      g_.send(take(distance).message, g_.position() + distance);
      landed_.push_back(sparse::receive_message(g_, g_.position() - distance));
    }
    const Taken own = take(0);
    sparse::Selection sum;
    Rank first = 1;
    do {
      sum = add(sum, first, {places, values}, own);
      first += bucket_;
    } while (first < g_.size());
    return sum;
  }

 private:
  sparse::Selection add(const sparse::Selection& sum, Rank first, const std::vector<Region>& mine, const Taken& own) {
    const Rank end = std::min(first + bucket_, g_.size());
    const bool is_first = first == 1, is_last = end == g_.size();
    KernelAccess access{.reads = {ranges_}, .defines = {g_.value()}, .given = {first, is_first, is_last}};
    if (!is_first) {
      access.reads = sparse::joined(std::move(access.reads), {sum.places, sum.values});
      access.uses = {sum.count};
    }
    access.reads.insert(access.reads.end(), landed_.begin() + first - 1, landed_.begin() + end - 1);
    if (is_last) {
      access.reads = sparse::joined(std::move(access.reads), mine);
      access.uses.insert(access.uses.end(), {own.begin, own.end});
    }
    const sparse::ListRooms& rooms = sums_.front();
    access.writes = rooms.regions();
    const sparse::Selection next{rooms.places, rooms.values, access.defines.front()};
    g_.kernel(add_bucket_kernel, std::move(access));
    std::swap(sums_.front(), sums_.back());
    return next;
  }

  GraphBuilder& g_;
  Region ranges_;
  Rank bucket_;
  std::vector<Region> rooms_, landed_;
  std::vector<sparse::ListRooms> sums_;  // the next one first; two in turn, where there is more than one bucket
};

}  // namespace

Reduced split_and_reduce(GraphBuilder& g, const Region& ranges, const CutValues& cut) {
  Split split(g, ranges);
  Selecting from(g, cut);
  Value count = Value::None;
  const auto take = [&](Rank distance) {
    const Taken taken = from.take(ranges, distance, split.room(distance));
    count = taken.end;
    return taken;
  };
  const sparse::Selection sum = split.run(from.places(), from.values(), take);
  return {{from.places(), from.values(), count}, ranges, sum};
}

Reduced split_and_reduce(GraphBuilder& g, const Region& ranges, const sparse::Selection& mine) {
  Split split(g, ranges);
  const auto take = [&](Rank distance) {
    KernelAccess access{.reads = {ranges, mine.places, mine.values}, .uses = {mine.count}, .given = {distance}};
    if (distance == 0) {
      const Taken own{.begin = g.value(), .end = g.value(), .message = {}};
      access.defines = {own.begin, own.end};
      g.kernel(find_own_kernel, std::move(access));
      return own;
    }
    const Value bytes = access.defines.emplace_back(g.value());
    access.writes = {split.room(distance)};
    g.kernel(pack_range_kernel, std::move(access));
    return Taken{.message = GraphBuilder::counted(split.room(distance), bytes)};
  };
  return {mine, ranges, split.run(mine.places, mine.values, take)};
}

}  // namespace lacuna::ok
