#include <fmt/format.h>

#include <algorithm>

#include "algorithms/ok_topk/state.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

using kernels::Cut;
using sparse::List;
using sparse::Range;

/// Takes the cut's entries of a list.
List take(const KernelCall& call, const List& from, const Cut& cut, const sparse::WriteList& to) {
  std::uint64_t taken = 0;
  call.backend.keep(from.all(), &cut, to.to(), {.dtype = from.dtype}, &taken);
  return to.list(taken);
}
Cut largest_of(const KernelCall& call, const List& from, std::uint64_t k, const Write& workspace) {
  return sparse::cut_of_largest(call, {from.dtype, from.values, from.count}, k, workspace);
}

/// Selects the entries of the block from the sums.
struct SelectGlobally {
  static constexpr std::string_view name = "select globally";
  sparse::ReadList sums;
  Use quota;  ///< how many sums are to be in the block
  sparse::WriteList block;
  Write workspace;
  Define count;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::select_time);
    const List all = sums.list();
    *count = take(call, all, largest_of(call, all, *quota, workspace), block).count;
    return {};
  }
};

struct PackBlock {
  static constexpr std::string_view name = "pack";
  Read ranges;
  sparse::ReadList block;
  sparse::WriteMessage message;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::pack_time);
    const Range range = sparse::range_of(*ranges, call.part.position);
    sparse::write_message(call, block.list().all(static_cast<std::size_t>(range.begin)), range, message);
    return {};
  }
};

/// Counts the entries in the messages of all ranks: all of them, and the most in one message.
struct CountEntries {
  static constexpr std::string_view name = "count entries";
  Reads messages;
  Define total, largest;

  Status operator()(const KernelCall& call) const {
    for (const Extent& message : messages) {
      kernels::EntriesHeader header;
      if (message.bytes() >= sizeof(header)) call.backend.read_header(message.data, &header);  // checked later
      *total += header.entries;
      *largest = std::max<std::uint64_t>(*largest, header.entries);
    }
    return {};
  }
};

struct PlaceLargest {
  static constexpr std::string_view name = "place largest";
  Read ranges;
  Reads messages;  ///< of all ranks, by distance
  sparse::MergeRooms all;
  sparse::WriteList largest;
  Write workspace;
  sparse::WriteResult result;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::merge_time);
    sparse::OutputWriter out(call, result);
    const auto sums = all_entries(call, out);
    if (!sums) return sums.status();
    const Cut cut = largest_of(call, *sums, sparse::arguments_of(call.part).wanted, workspace);
    report(call, measure::global_threshold, threshold_of(sums->dtype, cut));
    const List taken = take(call, *sums, cut, largest);
    sparse::Views views = out.views(sparse::all_places(call.part), 1);
    if (Status sound = views.add(call, taken.all(), call.part.position); !sound) return sound;
    out.add(views, {}, 0);
    return out.end();
  }

  /// Returns all entries of the messages of all ranks.
  Result<List> all_entries(const KernelCall& call, const sparse::OutputWriter& out) const {
    const Extent& sums = *all.sums;
    std::uint64_t count = 0;
    for (Rank from = 0; from < call.part.size; ++from) {
      const Range range = sparse::range_of(*ranges, from);
      sparse::Views views = out.views(range, 1);
      const Status sound = views.add_message(call, messages[sparse::distance_to(call.part, from)], from, range);
      if (!sound) return sound;
      call.backend.merge(views.views(), views.before(), {}, views.length(), {sums.dtype, sums.data, sums.count},
                         all.list.to(static_cast<std::size_t>(range.begin)), &count);
    }
    if (count <= all.list.room()) return all.list.list(count);
    return Status(Code::Mismatch, fmt::format("the ranks have summed up {}, at most {} were agreed on",
                                              count_of(count, "entry"), all.list.room()));
  }
};

std::vector<Region> exchange_blocks(GraphBuilder& g, const sparse::Selection& block, const Region& ranges) {
  const auto message = sparse::message_in(g, sparse::message_room(g));
  g.kernel(PackBlock{.ranges = ranges, .block = sparse::read(block), .message = message});
  return sparse::exchange(g, message.region());
}

Sizes count_blocks(GraphBuilder& g, const std::vector<Region>& messages) {
  const Sizes sizes{g.value(), g.value()};
  g.kernel(CountEntries{.messages = messages, .total = sizes.total, .largest = sizes.largest});
  return sizes;
}

}  // namespace

sparse::Selection select_globally(GraphBuilder& g, const Told& told) {
  const sparse::Selection block = sparse::room_for_selection(g);
  g.kernel(SelectGlobally{.sums = sparse::read(told.reduced.sums),
                          .quota = told.quota,
                          .block = sparse::write(block),
                          .workspace = sparse::workspace_room(g),
                          .count = block.count});
  return block;
}

void gather_blocks(GraphBuilder& g, const sparse::Selection& block, const Region& ranges) {
  sparse::place_in_output(g, exchange_blocks(g, block, ranges), ranges);
}

Sizes gather_largest(GraphBuilder& g, const Reduced& reduced) {
  const std::vector<Region> sums = exchange_blocks(g, reduced.sums, reduced.ranges);
  g.kernel(PlaceLargest{.ranges = reduced.ranges,
                        .messages = sums,
                        .all = sparse::merge_rooms(g),
                        .largest = sparse::list_room(g, sparse::most_selected),
                        .workspace = sparse::workspace_room(g),
                        .result = sparse::result_rooms(g, sparse::whole_output(g), sparse::view_room)});
  return count_blocks(g, sums);
}

}  // namespace lacuna::ok
