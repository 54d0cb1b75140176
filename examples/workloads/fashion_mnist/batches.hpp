#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/values/status.hpp"

namespace lacuna::workloads {

/// How the training images are shared among the replicas of the network.
enum class Shards : std::uint8_t {
  Mixed = 0,    ///< any image may come to any replica, another one in each epoch
  Own = 1,      ///< each replica keeps an equal number of images of its own
  ByClass = 2,  ///< its own, of neighbouring classes
};

constexpr std::string_view to_string(Shards shards) {
  return shards == Shards::Mixed ? "mixed" : shards == Shards::Own ? "own" : "by_class";
}

/// What a step takes of the training images.
struct BatchSizes {
  std::size_t images = 0;  ///< to choose from
  std::size_t batch = 1;   ///< taken by each replica
  std::size_t replicas = 1;
};

/// An error if there are too few images for one step.
Result<std::uint64_t> steps_per_epoch(const BatchSizes& sizes);

/// Which images a replica takes in each step: none twice in an epoch, in an order that is drawn anew for each epoch. A
/// rest that is too small for a step is left out.
class Batches {
 public:
  Batches() = default;
  /// There are images enough for a step. Shards::ByClass sorts by `labels`, one for each image.
  Batches(const BatchSizes& sizes, std::size_t replica, std::uint64_t seed, Shards shards = Shards::Mixed,
          std::span<const std::uint8_t> labels = {});

  /// Numbers of images, valid until the next call.
  std::span<const std::uint32_t> take(std::uint64_t step);

 private:
  void draw(std::uint64_t epoch);

  BatchSizes sizes_;
  std::size_t replica_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::uint32_t> own_;      // the replica's images; empty: any
  std::optional<std::uint64_t> epoch_;  // whose order it is
  std::vector<std::uint32_t> order_;
};

}  // namespace lacuna::workloads
