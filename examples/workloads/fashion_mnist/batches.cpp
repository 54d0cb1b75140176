#include "examples/workloads/fashion_mnist/batches.hpp"

#include <fmt/format.h>

#include "examples/workloads/fashion_mnist/random.hpp"

namespace lacuna::workloads {

Result<std::uint64_t> steps_per_epoch(const BatchSizes& sizes) {
  const std::size_t global_batch = sizes.batch * sizes.replicas;
  if (global_batch <= sizes.images) return std::uint64_t{sizes.images / global_batch};
  return Status(Code::InvalidArgument, fmt::format("{} samples for each of {} replicas are more than the {} training "
                                                   "images",
                                                   sizes.batch, sizes.replicas, sizes.images));
}

std::span<const std::uint32_t> Batches::take(std::uint64_t step, std::size_t replica) {
  const std::uint64_t steps = sizes_.images / (sizes_.batch * sizes_.replicas);
  if (epoch_ != step / steps) {
    epoch_ = step / steps;
    order_ = permutation(seed_, *epoch_, sizes_.images);
  }
  return std::span(order_).subspan((step % steps * sizes_.replicas + replica) * sizes_.batch, sizes_.batch);
}

}  // namespace lacuna::workloads
