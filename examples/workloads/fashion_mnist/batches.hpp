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
  Mixed = 0,    ///< any image may come to any replica, a different one in each epoch
  Own = 1,      ///< each replica has an equal number of images of its own
  ByClass = 2,  ///< each replica has images of its own, of neighbouring classes
};

constexpr std::string_view to_string(Shards shards) {
  return shards == Shards::Mixed ? "mixed" : shards == Shards::Own ? "own" : "by_class";
}

/// How many of the training images a step takes.
struct BatchSizes {
  std::size_t images = 0;  ///< how many there are to choose from
  std::size_t batch = 1;   ///< how many each replica takes
  std::size_t replicas = 1;
};

/// Returns how many steps an epoch has. It is an error if there are too few images for one step.
Result<std::uint64_t> steps_per_epoch(const BatchSizes& sizes);

/// Says which images a replica takes in each step. None comes twice in an epoch, and the order is drawn anew for each
/// epoch. A rest that is too small for a step is left out.
class Batches {
 public:
  Batches() = default;
  /// There must be enough images for a step. Shards::ByClass sorts by `labels`, which has one for each image.
  Batches(const BatchSizes& sizes, std::size_t replica, std::uint64_t seed, Shards shards = Shards::Mixed,
          std::span<const std::uint8_t> labels = {});

  /// Returns the numbers of the images, valid until the next call.
  std::span<const std::uint32_t> take(std::uint64_t step);

 private:
  void draw(std::uint64_t epoch);

  BatchSizes sizes_;
  std::size_t replica_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::uint32_t> own_;      // the replica's own images; empty: any
  std::optional<std::uint64_t> epoch_;  // the epoch whose order order_ is
  std::vector<std::uint32_t> order_;
};

}  // namespace lacuna::workloads
