#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "runtime/graph/graphs.hpp"

namespace lacuna::runtime {

/// Elements that a region of a part of `count` elements holds; of each block, where there are blocks; 0 where a value
/// says it.
std::size_t elements_in(const Graph& graph, const Region& region, Rank position, std::size_t count);

/// The number of messages in the longest chain of which each waits for the one before, in the graphs of all positions;
/// of a symmetric program its one graph is enough.
int rounds_of(std::span<const Graph* const> graphs);

/// What one part costs a rank, and whose values are in its result. In elements.
struct PartCost {
  int rounds = 0;
  std::uint64_t sent = 0, received = 0;
  std::uint64_t reduced = 0;        ///< elements that the steps of all ranks have given their final value
  std::uint64_t contributions = 0;  ///< terms in these
  Rank fewest = 0;                  ///< terms in one of them; 0: nothing is reduced
  std::uint64_t lacking = 0;        ///< elements that this rank does not get
  bool depends_on_data = false;     ///< it sends more than is said here: as much as values say
};

/// What the graphs of all positions cost. Those of no positions cost nothing.
class GraphCost {
 public:
  explicit GraphCost(Graphs graphs);

  /// Of a part of so many elements for the rank at a position. The last ones asked for are kept.
  const PartCost& of(Rank position, std::size_t count);

 private:
  struct Final {
    Region region;
    Rank contributors;
  };
  /// Regions as they lie at one position.
  struct Moves {
    std::vector<Region> sent, received, lacking;
    bool depends = false;
  };
  struct Known {
    Rank position = -1;
    std::size_t count = 0;
    PartCost cost;
  };

  static Moves moves_of(const Graph& graph, Rank position);
  void note_finals(const Graph& graph, Rank position);
  std::uint64_t sum(const std::vector<Region>& regions, std::size_t count) const;
  PartCost fold(Rank position, std::size_t count) const;

  bool has_blocks_ = false;
  int rounds_ = 0;
  std::vector<Final> finals_;
  Graphs program_;            // of a symmetric one
  std::vector<Moves> moves_;  // by position, of others
  std::array<Known, 16> known_;
  std::size_t oldest_ = 0;
};

/// The costs used last.
class CostCache {
 public:
  /// Valid until the next call. Of `shape` the position, and what changes neither messages nor terms, does not count.
  GraphCost& get(const Algorithm& algorithm, GraphShape shape);

 private:
  static constexpr std::size_t capacity = 64;

  struct Entry {
    const Algorithm* algorithm;
    GraphShape shape;
    GraphCost cost;
  };
  std::list<Entry> entries_;
};

}  // namespace lacuna::runtime
