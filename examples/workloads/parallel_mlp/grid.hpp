#pragma once

#include <cstddef>
#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::workloads {

/// Into how many shares the work is cut: replicas of the network, ranks that share each layer, stages of layers.
struct GridSizes {
  Rank data = 1;
  Rank tensor = 1;
  Rank pipeline = 1;

  /// Returns a text such as "data x tensor x pipeline = 2 x 2 x 2 = 8".
  std::string to_string() const;
};

/// Returns Ok if the product of the sizes is the number of ranks.
Status check(const GridSizes& sizes, Rank ranks);

/// Where a rank stands in the grid.
struct GridPlace {
  Rank data = 0;
  Rank pipeline = 0;
  Rank tensor = 0;

  bool operator==(const GridPlace&) const = default;
};

/// rank = (data * pipeline_size + pipeline) * tensor_size + tensor, so that the ranks that exchange most are
/// neighbours.
GridPlace place_of(Rank rank, const GridSizes& sizes);

/// A rank's groups. Each holds the ranks that differ in one coordinate only, numbered by this coordinate.
struct Grid {
  GridSizes sizes;
  GridPlace place;
  Communicator data;      ///< its ranks have equal parameters and other samples
  Communicator tensor;    ///< its ranks have the same layers and samples, and other parts of the weights
  Communicator pipeline;  ///< its ranks have the same samples and other layers
};

/// Splits a world whose size is the product of the sizes. All ranks call it. It blocks.
Result<Grid> make_grid(Communicator& world, const GridSizes& sizes);

}  // namespace lacuna::workloads
