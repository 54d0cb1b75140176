#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/values/status.hpp"

namespace lacuna::workloads {

/// What a step takes of the training images.
struct BatchSizes {
  std::size_t images = 0;  ///< to choose from
  std::size_t batch = 1;   ///< taken by each replica of the network
  std::size_t replicas = 1;
};

/// An error if there are too few images for one step.
Result<std::uint64_t> steps_per_epoch(const BatchSizes& sizes);

/// Which images each replica takes in each step: none twice in an epoch, in an order that is drawn anew for each epoch.
/// A rest that is too small for a step is left out.
class Batches {
 public:
  Batches() = default;
  /// There are images enough for a step.
  Batches(const BatchSizes& sizes, std::uint64_t seed) : sizes_(sizes), seed_(seed) {}

  /// Numbers of images, valid until the next call.
  std::span<const std::uint32_t> take(std::uint64_t step, std::size_t replica);

 private:
  BatchSizes sizes_;
  std::uint64_t seed_ = 0;
  std::optional<std::uint64_t> epoch_;  // whose permutation order_ is
  std::vector<std::uint32_t> order_;
};

}  // namespace lacuna::workloads
