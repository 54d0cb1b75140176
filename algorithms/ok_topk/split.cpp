#include <algorithm>

#include "algorithms/ok_topk/selecting.hpp"
#include "algorithms/ok_topk/state.hpp"

namespace lacuna::ok {
namespace {

using sparse::List;
using sparse::Range;
using Taken = Selecting::Taken;

/// Packs the entries of the whole selection that lie in the range of the rank at a distance.
struct PackRange {
  static constexpr std::string_view name = "pack";
  Read ranges;
  sparse::ReadList mine;
  sparse::WriteMessage message;
  Rank distance;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::pack_time);
    const Range range = sparse::range_of(*ranges, sparse::rank_at(call.part, distance));
    sparse::write_message(call, mine.list().in(call, range), range, message);
    return {};
  }
};

/// Finds the entries of the own range in the whole selection.
struct FindOwn {
  static constexpr std::string_view name = "find own";
  Read ranges;
  sparse::ReadList mine;
  Define begin, end;

  Status operator()(const KernelCall& call) const {
    const kernels::EntriesView own = mine.list().in(call, sparse::range_of(*ranges, call.part.position));
    *begin = static_cast<std::size_t>(own.places - mine.places->data) / sizeof(std::uint32_t);
    *end = *begin + own.entries;
    return {};
  }
};

/// Adds messages to the sum.
struct AddBucket {
  static constexpr std::string_view name = "reduce range";
  Read ranges;
  sparse::ReadList before{};        ///< the sum so far; the first step has none
  Reads messages;                   ///< of the ranks before the own one, the nearest first
  Read own_places{}, own_values{};  ///< the last step adds the own entries too
  Use own_begin{}, own_end{};
  sparse::MergeRooms rooms;
  Define count;
  Rank first;  ///< the distance of the rank of the first message

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::merge_time);
    const Range range = sparse::range_of(*ranges, call.part.position);
    const auto begin = static_cast<std::size_t>(range.begin);
    const Rank me = call.part.position;
    sparse::Views views = sparse::Views::of(rooms, call.part, range);
    Status sound;
    if (before.count) sound = views.add(call, before.list().all(begin), me);
    std::int64_t distance = first;
    for (const Extent& message : messages) {
      if (sound) sound = views.add_message(call, message, sparse::rank_at(call.part, call.part.size - distance), range);
      ++distance;
    }
    const bool is_last = static_cast<bool>(own_places);
    if (is_last && sound) {
      const List own = List::of(*own_places, *own_values, *own_begin, *own_end);
      sound = views.add(call, own.all(begin), me);
    }
    if (!sound) return sound;
    const Scale scale = is_last ? sparse::scale_of(call.part) : Scale();
    const auto sum = sparse::merge(call, rooms, views, scale, begin);
    if (sum) *count = sum->count;
    return sum.status();
  }
};

/// Makes the steps of the split. Message d of each rank goes to the rank d after it, so that no rank gets two at a
/// time. As many messages are on their way as there are rooms for them. Messages that have come are added bucket by
/// bucket, in the order of d, while others are still selected.
class Split {
 public:
  Split(GraphBuilder& g, const Region& ranges) : g_(g), ranges_(ranges), bucket_(form_of(g).bucket) {
    for (Rank i = 0; i < std::min(bucket_, g.size() - 1); ++i) rooms_.push_back(sparse::selection_room(g));
    sums_.push_back(sparse::merge_rooms(g, sparse::write(shared_sums(g))));
    if (1 + bucket_ < g.size()) sums_.push_back(sparse::merge_rooms(g));
    const Rank buckets = (g.size() - 1 + bucket_ - 1) / bucket_;
    if (buckets % 2 == 0) std::swap(sums_.front(), sums_.back());  // the last sum must stand in shared_sums()
  }

  /// Returns the room of the message to the rank at this distance.
  Region room(Rank distance) const {
    return distance == 0 ? Region() : rooms_[static_cast<std::size_t>(distance - 1) % rooms_.size()];
  }

  /// Calls take(distance), which makes the message to the rank at that distance. `places` and `values` hold the own
  /// entries.
  sparse::Selection run(const Region& places, const Region& values, auto take) {
    for (Rank distance = 1; distance < g_.size(); ++distance) {
      g_.send(take(distance).message, g_.position() + distance);
      landed_.push_back(sparse::receive_message(g_, g_.position() - distance));
    }
    const Taken own = take(0);
    sparse::Selection sum;
    Rank first = 1;
    do {
      AddBucket bucket = bucket_from(first, sum);
      first += bucket_;
      if (first >= g_.size()) {
        bucket.own_places = places;
        bucket.own_values = values;
        bucket.own_begin = own.begin;
        bucket.own_end = own.end;
      }
      sum = {bucket.rooms.list.places.given(), bucket.rooms.list.values.given(), bucket.count.given()};
      g_.kernel(std::move(bucket));
    } while (first < g_.size());
    return sum;
  }

 private:
  /// Returns the step that adds the messages of a bucket.
  AddBucket bucket_from(Rank first, const sparse::Selection& sum) {
    const Rank end = std::min(first + bucket_, g_.size());
    AddBucket bucket{.ranges = ranges_,
                     .messages = std::vector<Region>(landed_.begin() + first - 1, landed_.begin() + end - 1),
                     .rooms = sums_.front(),
                     .count = g_.value(),
                     .first = first};
    if (first > 1) bucket.before = sparse::read(sum);
    std::swap(sums_.front(), sums_.back());
    return bucket;
  }

  GraphBuilder& g_;
  Region ranges_;
  Rank bucket_;
  std::vector<Region> rooms_, landed_;
  std::vector<sparse::MergeRooms> sums_;  // the next one first; two are used in turn if there are more buckets than one
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
    if (distance == 0) {
      const Taken own{.begin = g.value(), .end = g.value(), .message = {}};
      g.kernel(FindOwn{.ranges = ranges, .mine = sparse::read(mine), .begin = own.begin, .end = own.end});
      return own;
    }
    const auto message = sparse::message_in(g, split.room(distance));
    g.kernel(PackRange{.ranges = ranges, .mine = sparse::read(mine), .message = message, .distance = distance});
    return Taken{.message = message.region()};
  };
  return {mine, ranges, split.run(mine.places, mine.values, take)};
}

}  // namespace lacuna::ok
