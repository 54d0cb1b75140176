#include <algorithm>

#include "algorithms/ok_topk/selecting.hpp"
#include "algorithms/ok_topk/state.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"
#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

using kernels::Cut;
using sparse::List;
using sparse::Range;

kernels::FeedBack feed_back_of(const PartView& part) { return {.momentum = options_of(part.call).momentum}; }

/// Finds the cut. If given[0] is not 0 all ranks select exactly, and the cut takes k elements. Otherwise it takes all
/// elements above the threshold, even if this rank has to compute its threshold anew.
Status find_cut(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::select_time);
  const sparse::Accumulator from(call, call.reads);
  const Extent& kept = from.rest()[0];
  const std::span<const Extent> rooms = from.rest().subspan(1);
  const Dtype dtype = call.part.call.dtype;
  bool added = !from.feeds_back();
  if (call.part.call.input_entries.places) {
    const auto entries = sparse::sorted_entries(call, rooms);
    if (!entries) return entries.status();
    from.add(*entries);
    added = true;
  }
  OwnThreshold threshold = threshold_in(kept, call.part);
  Cut cut;
  if (call.given[0] || !threshold.is_known()) {
    if (!added) from.feed_back(feed_back_of(call.part), sparse::all_places(call.part));
    added = true;
    cut = sparse::cut_of_largest(from.all(), sparse::arguments_of(call.part).wanted, rooms[sparse::entry_workspace]);
    threshold.make(threshold_of(dtype, cut));
    threshold.store(kept.data);
  }
  if (!call.given[0]) cut = cut_above(dtype, threshold.value());
  call.defines[0] = cut.above;
  call.defines[1] = cut.ties;
  call.defines[2] = added;
  report(call, sparse::measure::threshold, kernels::number_of_magnitude(dtype, cut.above));
  return {};
}

/// The memory that a selecting step writes.
struct Rooms {
  explicit Rooms(const KernelCall& call)
      : from(call, call.reads.first(1)),
        kept(from.rest()[0]),
        places(from.rest()[1]),
        values(from.rest()[2]),
        workspace(from.rest()[3]) {}

  kernels::EntriesList at(std::int64_t place) const {
    return {reinterpret_cast<std::uint32_t*>(places.data), values.data, places.count,
            static_cast<std::uint32_t>(place)};
  }

  sparse::Accumulator from;
  Extent kept, places, values, workspace;
};

/// Appends what the cut takes of a range to the list, which ends at `end`, and returns its new end. It works on pieces
/// that stay in a cache from when the input is added until they are searched.
std::uint64_t append(const KernelCall& call, const Rooms& rooms, const Range& range, std::uint64_t end) {
  const Cut cut{.above = call.uses[0], .ties = call.uses[1]};
  const bool added = call.uses[2] != 0;
  const std::size_t at_a_time = kernels::backend().elements_in_cache();
  const auto step = static_cast<std::int64_t>(added ? range.length() : std::min(at_a_time, range.length()));
  for (Range piece = range; piece.begin < range.end; piece.begin = piece.end) {
    piece.end = std::min(range.end, piece.begin + step);
    if (!added) rooms.from.feed_back(feed_back_of(call.part), piece);
    kernels::backend().compact(rooms.from.part(piece), &cut, rooms.at(piece.begin), &end);
  }
  return end;
}

/// Appends the largest elements of a range: as many as are its share of the room, which it has in common with given[1]
/// ranges that are still to come. The next run makes the threshold anew, because this one takes too many.
std::uint64_t append_largest(const KernelCall& call, const Rooms& rooms, const Range& range, std::uint64_t end) {
  OwnThreshold threshold = threshold_in(rooms.kept, call.part);
  threshold.forget();
  threshold.store(rooms.kept.data);
  const auto ranges = static_cast<std::uint64_t>(call.given[1] + 1);
  const Cut cut = sparse::cut_of_largest(rooms.from.part(range), (rooms.places.count - end) / ranges, rooms.workspace);
  kernels::backend().compact(rooms.from.part(range), &cut, rooms.at(range.begin), &end);
  return end;
}

/// Appends what is taken of a range, after entry uses[3] if there is such a value. It defines the call's first values
/// as where that begins and ends. If there is no room for all that is above the threshold, it takes the largest only,
/// so that the first ranges leave room for the others.
List take_from(const KernelCall& call, const Range& range) {
  const sparse::Stopwatch watch(call, sparse::measure::select_time);
  const Rooms rooms(call);
  const std::uint64_t begin = call.uses.size() > 3 ? call.uses[3] : 0;
  std::uint64_t end = append(call, rooms, range, begin);
  if (end > rooms.places.count) end = append_largest(call, rooms, range, begin);
  const List taken = List::of(rooms.places, rooms.values, begin, end);
  call.defines[0] = begin;
  call.defines[1] = end;
  call.counted.selected += taken.count;
  return taken;
}

Status take_of_all(const KernelCall& call) {
  take_from(call, sparse::all_places(call.part));
  return {};
}

/// Takes from the range of the rank at distance given[0].
Status take_of_range(const KernelCall& call) {
  const Range range = sparse::range_of(call.reads[1], sparse::rank_at(call.part, call.given[0]));
  const List taken = take_from(call, range);
  if (call.given[0] == 0) return {};
  const sparse::Stopwatch watch(call, sparse::measure::pack_time);
  call.defines[2] = sparse::write_message(call, taken.in(range), range, call.writes.back().data);
  return {};
}

constexpr Kernel find_cut_kernel = {"find threshold", find_cut}, take_of_all_kernel = {"select", take_of_all},
                 take_of_range_kernel = {"select", take_of_range};

}  // namespace

CutValues find_threshold(GraphBuilder& g) {
  const CutValues found{g.value(), g.value(), g.value()};
  std::vector<Region> writes = sparse::accumulator_rooms(g);
  writes.push_back(threshold_room(g));
  g.kernel(find_cut_kernel, {.reads = {g.input()},
                             .writes = sparse::joined(std::move(writes), sparse::entry_rooms(g)),
                             .defines = {found.above, found.ties, found.added},
                             .given = {form_of(g).reevaluates}});
  return found;
}

sparse::Selection select_all(GraphBuilder& g, const CutValues& cut) {
  Selecting from(g, cut);
  return {from.places(), from.values(), from.take_all().end};
}

Selecting::Selecting(GraphBuilder& g, const CutValues& cut)
    : g_(g),
      uses_{cut.above, cut.ties, cut.added},
      kept_(sparse::joined(sparse::accumulator_rooms(g), {threshold_room(g)})),
      selected_(shared_selection(g)),
      workspace_(g.buffer({.element = Dtype::U8, .capacity = sparse::workspace_bytes})) {}

std::vector<Region> Selecting::writes() const { return sparse::joined(kept_, {places(), values(), workspace_}); }

Selecting::Taken Selecting::take_all() {
  const Taken taken{.begin = g_.value(), .end = g_.value(), .message = {}};
  g_.kernel(
      take_of_all_kernel,
      {.reads = {g_.input()}, .writes = writes(), .uses = uses_, .defines = {taken.begin, taken.end}, .given = {0, 0}});
  return taken;
}

Selecting::Taken Selecting::take(const Region& ranges, Rank distance, const Region& room) {
  Taken taken{.begin = g_.value(), .end = g_.value(), .message = {}};
  KernelAccess access{.reads = {g_.input(), ranges},
                      .writes = writes(),
                      .uses = uses_,
                      .defines = {taken.begin, taken.end},
                      .given = {distance, (g_.size() - distance) % g_.size()}};
  if (distance != 0) {
    access.writes.push_back(room);
    const Value bytes = access.defines.emplace_back(g_.value());
    taken.message = GraphBuilder::counted(room, bytes);
  }
  g_.kernel(take_of_range_kernel, std::move(access));
  uses_.resize(3);
  uses_.push_back(taken.end);
  return taken;
}

}  // namespace lacuna::ok
