#include "examples/workloads/fashion_mnist/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "examples/workloads/fashion_mnist/random.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {

Result<std::uint64_t> steps_per_epoch(const BatchSizes& sizes) {
  const std::size_t global_batch = sizes.batch * sizes.replicas;
  if (global_batch <= sizes.images) return std::uint64_t{sizes.images / global_batch};
  return Status(Code::InvalidArgument,
                fmt::format("{} for each of {}, more than the number of training images, {}",
                            count_of(sizes.batch, "sample"), count_of(sizes.replicas, "replica"), sizes.images));
}

Batches::Batches(const BatchSizes& sizes, std::size_t replica, std::uint64_t seed, Shards shards,
                 std::span<const std::uint8_t> labels)
    : sizes_(sizes), replica_(replica), seed_(seed) {
  if (shards == Shards::Mixed) return;
  std::vector<std::uint32_t> all(sizes.images);
  std::iota(all.begin(), all.end(), 0U);
  if (shards == Shards::ByClass) {
    std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });
  }
  const std::size_t share = sizes.images / sizes.replicas;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(replica * share);
  own_.assign(first, first + static_cast<std::ptrdiff_t>(share));
}

std::span<const std::uint32_t> Batches::take(std::uint64_t step) {
  const std::uint64_t steps = sizes_.images / (sizes_.batch * sizes_.replicas);
  if (epoch_ != step / steps) draw(step / steps);
  const std::size_t batch = own_.empty() ? step % steps * sizes_.replicas + replica_ : step % steps;
  return std::span(order_).subspan(batch * sizes_.batch, sizes_.batch);
}

void Batches::draw(std::uint64_t epoch) {
  epoch_ = epoch;
  if (own_.empty()) {
    order_ = permutation(seed_, epoch, sizes_.images);
    return;
  }
  order_ = permutation(seed_, (std::uint64_t{replica_} + 1) << 40 | epoch, own_.size());
  for (std::uint32_t& image : order_) image = own_[image];
}

}  // namespace lacuna::workloads
