#include "algorithms/topk/capped.hpp"

#include <algorithm>

#include "algorithms/phases/feedback.hpp"

namespace lacuna {
namespace {

/// Drops what is not finite from a residual to which these entries have been added. A sum may be too large although the
/// largest entries are finite. Then the first of the largest becomes what was dropped, so that this call tells it.
void drop_not_finite(const KernelCall& call, const NotFiniteRooms& rooms, const kernels::EntriesView& added,
                     const kernels::Target& residual, const sparse::List& largest) {
  const kernels::Source all{residual.dtype, residual.data - added.base * size_of(residual.dtype), residual.count};
  const std::span places(reinterpret_cast<const std::uint32_t*>(added.places), added.entries);
  std::uint64_t found = 0;
  for (std::size_t begin = 0; begin < places.size() && found == 0; begin += rooms.values->count) {
    const std::span some = places.subspan(begin, std::min(rooms.values->count, places.size() - begin));
    call.backend.gather(some, all, rooms.values->data);
    found = count_not_finite(call.backend, {residual.dtype, rooms.values->data, some.size()});
  }
  if (found == 0) return;
  call.measures.tell(dropped_elements, static_cast<double>(lacuna::drop_not_finite(call.backend, residual, rooms)));
  if (largest.count == 0 || count_not_finite(call.backend, {largest.dtype, largest.values, largest.count}) > 0) return;
  call.backend.copy({}, {largest.dtype, largest.values, 1}, rooms.values->data);
}

}  // namespace

CapRooms cap_rooms(GraphBuilder& g) {
  if (!sparse::form_of(g).capped) return {};
  return {.kept = sparse::list_room(g, sparse::most_selected),
          .workspace = sparse::workspace_room(g),
          .residual = sparse::whole_array(g, residual_array).front(),
          .not_finite = not_finite_rooms(g)};
}

kernels::EntriesView cap(const KernelCall& call, const CapRooms& rooms, const kernels::EntriesView& entries,
                         std::size_t most) {
  if (entries.entries <= most) return entries;
  const Extent& residual = *rooms.residual;
  kernels::EntriesList to = rooms.kept.to();
  to.room = most;
  const kernels::Cut cut =
      sparse::cut_of_largest(call, {residual.dtype, entries.values, entries.entries}, most, rooms.workspace);
  const double factor = 1 / sparse::factor_of_terms(call.part);
  std::uint64_t taken = 0;
  call.backend.keep(entries, &cut, to, {residual.dtype, residual.data, residual.count, factor}, &taken);
  call.measures.tell(sparse::measure::left, static_cast<double>(entries.entries - taken));
  const sparse::List kept = rooms.kept.list(taken);
  drop_not_finite(call, rooms.not_finite, entries, {residual.dtype, residual.data, residual.count}, kept);
  return kept.all(entries.base);
}

Status merge_capped(const KernelCall& call, const CappedSum& to, const sparse::Views& views, const sparse::Range& range,
                    Scale scale, std::size_t most) {
  if (!sparse::form_of(call.part).capped) return sparse::merge(call, to.rooms, views, range, scale, to.message);
  const Stopwatch watch(call, sparse::measure::merge_time);
  const auto sum = sparse::merge(call, to.rooms, views, {});
  if (!sum) return sum.status();
  const kernels::EntriesView kept = cap(call, to.cap, sum->all(), most);
  auto* values = const_cast<std::byte*>(kept.values);  // this kernel may write them: they lie in its rooms
  call.backend.copy(scale, {sum->dtype, values, kept.entries}, values);
  sparse::write_message(call, kept, range, to.message);
  return {};
}

}  // namespace lacuna
