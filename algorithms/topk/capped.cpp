#include "algorithms/topk/capped.hpp"

namespace lacuna {
namespace {

using kernels::backend;
using sparse::List;

/// The places of these rooms in a step's writes.
enum Room : std::size_t { kept_places = sparse::merged_message + 1, kept_values, workspace, rest };

}  // namespace

std::vector<Region> cap_rooms(GraphBuilder& g) {
  return {g.buffer({.element = Dtype::I32, .capacity = sparse::most_selected}),
          g.buffer({.capacity = sparse::most_selected}),
          g.buffer({.element = Dtype::U8, .capacity = sparse::workspace_bytes})};
}

kernels::EntriesView cap(const KernelCall& call, const kernels::EntriesView& entries, std::size_t most) {
  if (entries.entries <= most) return entries;
  const Extent& residual = call.writes[rest];
  const List kept = List::of(call.writes[kept_places], call.writes[kept_values], most);
  kernels::Cut cut;
  std::uint64_t taken = 0;
  backend().largest({kept.dtype, entries.values, entries.entries}, most, call.writes[workspace].data, &cut);
  backend().keep(entries, &cut, {kept.places, kept.values, most}, {residual.dtype, residual.data, residual.count},
                 &taken);
  call.counted.kept += entries.entries - taken;
  return List{kept.places, kept.values, taken, kept.dtype}.in({entries.base, std::int64_t{1} << 32, 0});
}

Status merge_capped(const KernelCall& call, const sparse::Views& views, const sparse::Range& range, Scale scale,
                    std::size_t most) {
  const sparse::Stopwatch watch(call, sparse::measure::merge_time);
  const auto sum = sparse::merged_list(call, views, {});
  if (!sum) return sum.status();
  const kernels::EntriesView kept = cap(call, sum->all(), most);
  auto* values = const_cast<std::byte*>(kept.values);  // in the rooms that this step writes
  backend().copy(scale, {sum->dtype, values, kept.entries}, values);
  call.defines[0] = sparse::write_message(call, kept, range, call.writes[sparse::merged_message].data);
  return {};
}

}  // namespace lacuna
