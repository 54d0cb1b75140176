#pragma once

#include <cstddef>
#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::workloads {

/// How many ways the work is cut: replicas of the network, ranks that share each layer, stages of layers.
struct GridSizes {
  Rank data = 1;
  Rank tensor = 1;
  Rank pipeline = 1;

  /// "data x tensor x pipeline = 2 x 2 x 2 = 8"
  std::string to_string() const;
};

/// Ok if the sizes' product is the number of ranks.
Status check(const GridSizes& sizes, Rank ranks);

/// Where a rank stands in the grid.
struct GridPlace {
  Rank data = 0;
  Rank pipeline = 0;
  Rank tensor = 0;

  bool operator==(const GridPlace&) const = default;
};

/// rank = (data * pipeline_size + pipeline) * tensor_size + tensor: the ranks that talk most are neighbours.
GridPlace place_of(Rank rank, const GridSizes& sizes);

/// A rank's groups. Each holds the ranks that differ in one coordinate only, numbered by it.
struct Grid {
  GridSizes sizes;
  GridPlace place;
  Communicator data;      ///< equal parameters, other samples
  Communicator tensor;    ///< the same layers and samples, other parts of the weights
  Communicator pipeline;  ///< the same samples, other layers
};

/// Splits a world whose size is the sizes' product. Called by all ranks, blocking.
Result<Grid> make_grid(Communicator& world, const GridSizes& sizes);

}  // namespace lacuna::workloads
