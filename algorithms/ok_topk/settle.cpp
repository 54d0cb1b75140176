#include "algorithms/ok_topk/state.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"
#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

using sparse::List;

/// Ports of the result.
struct ReadResult {
  Read values;
  Read places{}, count{};  ///< if it is a list
};

/// Removes what is in the result from the accumulator, and moves the threshold.
struct Settle {
  static constexpr std::string_view name = "settle";
  ReadResult result;
  sparse::ReadList mine;  ///< what this rank has selected
  Use largest;            ///< the most entries that one rank has brought to the result
  sparse::WriteAccumulator accumulator;
  Write threshold;
  sparse::WriteList found;  ///< the entries of the selection that are in the result
  Write values;             ///< of the result, at the places of the selection
  Write workspace;
  NotFiniteRooms not_finite;
  bool exactly;   ///< the selection was exact
  bool balanced;  ///< blocks have been balanced

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::select_time);
    const sparse::Accumulator from(call, accumulator);
    const std::uint64_t contributed = find_in_result(call);
    from.clear_at(found.list(contributed).all_places(), options_of(call.part.call).masking);
    const bool is_finite = from.drop_not_finite(call, mine.list(), not_finite);
    call.measures.tell(sparse::measure::contributed, static_cast<double>(contributed));
    call.measures.tell(sparse::measure::left, static_cast<double>(sparse::places_of(call.part) - contributed));
    report(call, measure::largest_block, static_cast<double>(*largest));
    report(call, measure::balanced, static_cast<double>(balanced));
    move_threshold(call, contributed, is_finite);
    return {};
  }

  /// Returns how many of the selected places the result has.
  std::uint64_t find_in_result(const KernelCall& call) const {
    const List selected = mine.list();
    std::uint64_t taken = 0;
    if (result.count) {
      const auto entries = kernels::load<std::uint64_t>(result.count->data, 0);
      const List all = List::of(*result.places, *result.values, 0, entries);
      call.backend.find_common(selected.all_places(), all.all_places(), found.list(0).places, &taken);
      return taken;
    }
    const Extent& all = *result.values;
    call.backend.gather(selected.all_places(), {all.dtype, all.data, all.count}, values->data);
    const List there{selected.places, values->data, selected.count, all.dtype};
    const kernels::Cut all_but_zeros;
    kernels::EntriesList to = found.to();
    to.room = selected.count;
    call.backend.keep(there.all(), &all_but_zeros, to, {.dtype = all.dtype}, &taken);
    return taken;
  }

  /// Moves the threshold for the next run. If this run has taken a third too few, or a third too many, the next run
  /// makes the threshold anew. So it does if what was taken is not finite.
  void move_threshold(const KernelCall& call, std::uint64_t contributed, bool is_finite) const {
    OwnThreshold own = threshold_in(*threshold, call.part);
    const std::size_t wanted = sparse::arguments_of(call.part).wanted, most = most_by_threshold(call.part);
    const List taken = mine.list();
    const bool too_many = !exactly && taken.count >= most && most < sparse::places_of(call.part);
    const bool too_few = 3 * taken.count < 2 * wanted && own.value() > 0;
    const bool stays = !options_of(call.part.call).feedback;
    if (wanted < sparse::places_of(call.part)) {  // else all elements are taken, by any threshold
      own.move(call.backend,
               {.values = {taken.dtype, taken.values, taken.count},
                .factor = sparse::factor_of_terms(call.part),
                .gone = stays ? 0 : contributed},
               workspace->data);
    }
    if (too_many || too_few || !is_finite) own.forget();
    own.store(threshold->data);
  }
};

}  // namespace

void settle(GraphBuilder& g, const Reduced& reduced, const Sizes& sizes) {
  const Form form = form_of(g);
  sparse::OutputList list;
  if (form.listed) list = sparse::output_list(g);
  g.kernel(Settle{.result = {.values = g.output(), .places = list.places, .count = list.count},
                  .mine = sparse::read(reduced.mine),
                  .largest = sizes.largest,
                  .accumulator = sparse::accumulator_rooms(g),
                  .threshold = threshold_room(g),
                  .found = sparse::list_room(g, sparse::most_selected),
                  .values = g.buffer({.capacity = sparse::most_selected}),
                  .workspace = sparse::workspace_room(g),
                  .not_finite = sparse::rooms_to_drop(g),
                  .exactly = form.reevaluates,
                  .balanced = form.stage == Stage::Balance});
}

}  // namespace lacuna::ok
