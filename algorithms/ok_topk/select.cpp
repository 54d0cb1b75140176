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

/// Finds the cut. An exact selection takes k elements on each rank. Otherwise the cut takes all elements above the
/// threshold, even if this rank has to compute its threshold anew.
struct FindThreshold {
  static constexpr std::string_view name = "find threshold";
  Reads input;
  sparse::WriteAccumulator accumulator;
  Write threshold;
  sparse::SortEntries entries;
  Define above, ties, added;
  bool exactly;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::select_time);
    const sparse::Accumulator from(call, accumulator, input);
    const Dtype dtype = call.part.call.dtype;
    bool is_added = !from.feeds_back();
    if (sparse::brings_list(call.part)) {
      const auto sorted = entries.run(call);
      if (!sorted) return sorted.status();
      from.add(*sorted);
      is_added = true;
    }
    OwnThreshold own = threshold_in(*threshold, call.part);
    Cut cut;
    if (exactly || !own.is_known()) {
      if (!is_added) from.feed_back(feed_back_of(call.part), sparse::all_places(call.part));
      is_added = true;
      cut = sparse::cut_of_largest(call, from.all(), sparse::arguments_of(call.part).wanted, entries.workspace);
      own.make(threshold_of(dtype, cut));
      own.store(threshold->data);
    }
    if (!exactly) cut = cut_above(dtype, own.value());
    *above = cut.above;
    *ties = cut.ties;
    *added = is_added;
    report(call, sparse::measure::threshold, kernels::number_of_magnitude(dtype, cut.above));
    return {};
  }
};

/// What is taken of a range: the entries [begin, end) of the selection.
struct Found {
  std::uint64_t begin = 0, end = 0;
};

/// Appends what the cut takes of a range to the selection, which ends at `found.end`. It works on pieces that stay in a
/// cache from when the input is added until they are searched.
void append(const KernelCall& call, const SelectPorts& ports, const Range& range, Found& found) {
  const sparse::Accumulator from(call, ports.accumulator, ports.input);
  const Cut cut{.above = *ports.above, .ties = *ports.ties};
  const bool added = *ports.added != 0;
  const std::size_t at_a_time = call.backend.elements_in_cache();
  const auto step = static_cast<std::int64_t>(added ? range.length() : std::min(at_a_time, range.length()));
  for (Range piece = range; piece.begin < range.end; piece.begin = piece.end) {
    piece.end = std::min(range.end, piece.begin + step);
    if (!added) from.feed_back(feed_back_of(call.part), piece);
    call.backend.compact(from.part(piece), &cut, ports.selected.to(static_cast<std::size_t>(piece.begin)), &found.end);
  }
}

/// Appends the largest elements of a range. It takes as many as the range's share of what is left, which all ranges
/// that are still to come have in common. If something is not finite, it takes one at least, which tells it. The next
/// run makes the threshold anew, because this one takes too many.
void append_largest(const KernelCall& call, const SelectPorts& ports, const Range& range, Found& found) {
  const sparse::Accumulator from(call, ports.accumulator, ports.input);
  OwnThreshold threshold = threshold_in(*ports.threshold, call.part);
  threshold.forget();
  threshold.store(ports.threshold->data);
  const auto ranges = static_cast<std::uint64_t>(ports.ranges_to_come + 1);
  const std::uint64_t left = std::max<std::uint64_t>(most_by_threshold(call.part), found.end) - found.end;
  std::uint64_t share = left / ranges;
  if (share == 0 && count_not_finite(call.backend, from.part(range)) > 0) share = 1;
  const Cut cut = sparse::cut_of_largest(call, from.part(range), share, ports.workspace);
  call.backend.compact(from.part(range), &cut, ports.selected.to(static_cast<std::size_t>(range.begin)), &found.end);
}

/// Appends what is taken of a range to the selection. If there is no room for all elements above the threshold, it
/// takes the largest only, so that the first ranges leave room for the others.
List take_from(const KernelCall& call, const SelectPorts& ports, const Range& range) {
  const Stopwatch watch(call, sparse::measure::select_time);
  Found found;
  if (ports.before) found = {*ports.before, *ports.before};
  append(call, ports, range, found);
  if (found.end > most_by_threshold(call.part)) {
    found.end = found.begin;
    append_largest(call, ports, range, found);
  }
  *ports.begin = found.begin;
  *ports.end = found.end;
  call.measures.tell(sparse::measure::selected, static_cast<double>(found.end - found.begin));
  const List taken = List::of(*ports.selected.places, *ports.selected.values, found.begin, found.end);
  sparse::scale_terms(call, taken);
  return taken;
}

struct SelectAll {
  static constexpr std::string_view name = "select";
  SelectPorts ports;

  Status operator()(const KernelCall& call) const {
    take_from(call, ports, sparse::all_places(call.part));
    return {};
  }
};

/// Selects from the range of the rank at a distance, and packs what it takes for another rank.
struct SelectRange {
  static constexpr std::string_view name = "select";
  Read ranges;
  SelectPorts ports;
  sparse::WriteMessage message;
  Rank distance;

  Status operator()(const KernelCall& call) const {
    const Range range = sparse::range_of(*ranges, sparse::rank_at(call.part, distance));
    const List taken = take_from(call, ports, range);
    if (!message.room) return {};
    const Stopwatch watch(call, sparse::measure::pack_time);
    sparse::write_message(call, taken.all(static_cast<std::size_t>(range.begin)), range, message);
    return {};
  }
};

}  // namespace

CutValues find_threshold(GraphBuilder& g) {
  const CutValues found{g.value(), g.value(), g.value()};
  g.kernel(FindThreshold{.input = sparse::whole_input(g),
                         .accumulator = sparse::accumulator_rooms(g),
                         .threshold = threshold_room(g),
                         .entries = sparse::sort_entries(g),
                         .above = found.above,
                         .ties = found.ties,
                         .added = found.added,
                         .exactly = form_of(g).reevaluates});
  return found;
}

sparse::Selection select_all(GraphBuilder& g, const CutValues& cut) {
  Selecting from(g, cut);
  return {from.places(), from.values(), from.take_all().end};
}

Selecting::Selecting(GraphBuilder& g, const CutValues& cut)
    : g_(g),
      ports_{.input = sparse::whole_input(g),
             .above = cut.above,
             .ties = cut.ties,
             .added = cut.added,
             .accumulator = sparse::accumulator_rooms(g),
             .threshold = threshold_room(g),
             .selected = sparse::write(shared_selection(g)),
             .workspace = sparse::workspace_room(g)} {}

/// Prepares the ports of the next step, and returns the values that say what it takes.
Selecting::Taken Selecting::next(Rank ranges_to_come) {
  const Taken taken{.begin = g_.value(), .end = g_.value(), .message = {}};
  ports_.begin = taken.begin;
  ports_.end = taken.end;
  ports_.ranges_to_come = ranges_to_come;
  return taken;
}

Selecting::Taken Selecting::take_all() {
  const Taken taken = next(0);
  g_.kernel(SelectAll{ports_});
  return taken;
}

Selecting::Taken Selecting::take(const Region& ranges, Rank distance, const Region& room) {
  Taken taken = next((g_.size() - distance) % g_.size());
  sparse::WriteMessage message;
  if (distance != 0) {
    message = sparse::message_in(g_, room);
    taken.message = message.region();
  }
  g_.kernel(SelectRange{.ranges = ranges, .ports = ports_, .message = message, .distance = distance});
  ports_.before = taken.end;
  return taken;
}

}  // namespace lacuna::ok
