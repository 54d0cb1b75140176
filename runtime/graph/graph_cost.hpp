#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graphs.hpp"

namespace lacuna::runtime {

/// How much data, for any type of the call's elements.
struct DataAmount {
  std::uint64_t elements = 0;  ///< of the call's type
  std::uint64_t bytes = 0;     ///< beside these: of buffers that have a type of their own

  std::uint64_t bytes_of(Dtype call) const { return elements * size_of(call) + bytes; }
  DataAmount& operator+=(const DataAmount& other) {
    elements += other.elements;
    bytes += other.bytes;
    return *this;
  }
};

/// What a region of a part of `count` elements holds; of each block, where there are blocks. Nothing where this is not
/// known from the graph: where a value says how long the region is, or its buffer has a capacity of its own.
DataAmount amount_in(const Graph& graph, const Region& region, Rank position, std::size_t count);

/// The number of messages in the longest chain of which each waits for the one before, in the graphs of all positions;
/// of a symmetric program its one graph is enough.
int rounds_of(std::span<const Graph* const> graphs);

/// What one part costs a rank, and whose values are in its result. Counts are of elements.
struct PartCost {
  int rounds = 0;
  DataAmount sent{}, received{};
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
  /// A region as it lies at one position, in a buffer of the call's type or of its own.
  struct Move {
    Region region;
    std::optional<Dtype> element;
  };
  struct Moves {
    std::vector<Move> sent, received;
    std::vector<Region> lacking;
    bool depends = false;
  };
  struct Known {
    Rank position = -1;
    std::size_t count = 0;
    PartCost cost;
  };

  static Moves moves_of(const Graph& graph, Rank position);
  void note_finals(const Graph& graph, Rank position);
  DataAmount sum(const std::vector<Move>& moves, std::size_t count) const;
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
