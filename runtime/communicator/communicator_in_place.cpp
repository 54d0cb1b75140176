#include <algorithm>

#include "runtime/communicator/communicator.hpp"
#include "runtime/values/mappable_heap.hpp"

namespace lacuna::runtime {
namespace {

/// Can other processes of the host map all of these elements?
bool is_mappable(const void* begin, std::size_t count, Dtype dtype) {
  const std::span bytes(static_cast<const std::byte*>(begin), count * size_of(dtype));
  return begin && MappableHeap::of_process().find(bytes);
}

bool has_mappable_output(const Call& call, Rank size) {
  return is_mappable(call.output, output_length(call, size), call.dtype);
}

}  // namespace

bool Communicator::may_read_output(const CollectiveRun& run, std::size_t bytes) const {
  const ExecutorOptions& configured = executor_.options();
  return !run.method && bytes > configured.chunk_bytes && configured.chunk_bytes >= configured.mapped_bytes &&
         has_mappable_output(run.call, size());
}

bool Communicator::wants_copies(const CollectiveRun& run, const Algorithm& algorithm) const {
  if (!may_map_copies(algorithm, hosts())) return false;
  const Call& call = run.call;
  const Rank on_host = hosts().ranks_on(hosts().host_of(rank()));
  const std::size_t piece_bytes = call.count * size_of(call.dtype) / static_cast<std::size_t>(on_host);
  const std::size_t factor = on_host > 2 ? 1 : lone_copy_factor;
  return on_host > 1 && piece_bytes / factor >= executor_.options().mapped_bytes &&
         call.memory.kind == MemoryKind::Host &&
         !(has_mappable_output(call, size()) && is_mappable(call.input, input_length(call, size()), call.dtype));
}

bool Communicator::may_copy_parts(const CollectiveRun& run) const {
  const std::size_t longest = executor_.options().copied_bytes / size_of(run.call.dtype);
  return std::ranges::all_of(run.plan.parts, [&](const PartPlan& part) { return part.data.count <= longest; });
}

}  // namespace lacuna::runtime
