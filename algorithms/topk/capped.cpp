#include "algorithms/topk/capped.hpp"

#include "algorithms/phases/feedback.hpp"

namespace lacuna {

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
  if (count_not_finite(call.backend, {residual.dtype, to.values, taken}) > 0) {
    const kernels::Target kept{residual.dtype, residual.data, residual.count};
    call.measures.tell(dropped_elements, static_cast<double>(drop_not_finite(call.backend, kept, rooms.not_finite)));
  }
  return rooms.kept.list(taken).all(entries.base);
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
