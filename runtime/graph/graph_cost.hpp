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

/// An amount of data, for a call with elements of any type.
struct DataAmount {
  std::uint64_t elements = 0;  ///< elements of the call's type
  std::uint64_t bytes = 0;     ///< bytes of buffers that have a type of their own; they come on top of the elements

  std::uint64_t bytes_of(Dtype call) const { return elements * size_of(call) + bytes; }
  DataAmount& operator+=(const DataAmount& other) {
    elements += other.elements;
    bytes += other.bytes;
    return *this;
  }
};

/// The amount that a region holds, in a part of `count` elements, or of blocks of `count` elements. It is 0 if the
/// graph does not tell it: if a value says how long the region is, or if its buffer has a length of its own.
DataAmount amount_in(const Graph& graph, const Region& region, Rank position, std::size_t count);

/// The number of rounds: the messages in the longest chain in which each message waits for the one before. Rows of the
/// board count as messages. `graphs` are
/// those of all positions, or the one graph of a symmetric program.
int rounds_of(std::span<const Graph* const> graphs);

/// What one part costs a rank, and whose values are in its result. Counts are of elements.
struct PartCost {
  int rounds = 0;
  DataAmount sent{}, received{};
  std::uint64_t reduced = 0;        ///< elements to which the steps of all ranks give their final value
  std::uint64_t contributions = 0;  ///< terms in the final values, over all reduced elements
  Rank fewest = 0;                  ///< the least number of terms in a final value; 0: nothing is reduced
  std::uint64_t lacking = 0;        ///< elements that this rank does not get
  bool depends_on_data = false;     ///< it sends or receives more than is counted here, as much as its data decide
};

/// What the graphs of all positions cost. The cost of an empty list of graphs is 0.
class GraphCost {
 public:
  explicit GraphCost(Graphs graphs);

  /// The cost of a part of so many elements for the rank at a position. The object remembers its last answers.
  const PartCost& of(Rank position, std::size_t count);

 private:
  struct Final {
    Region region;
    Rank contributors;
  };
  /// A region that a message fills or is sent from, as it lies at one position. `element` is BufferInfo::element.
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
  Graphs program_;            // only of a program with one graph for all positions
  std::vector<Moves> moves_;  // by position, only of other programs
  std::array<Known, 16> known_;
  std::size_t oldest_ = 0;
};

/// The costs of the graphs that were used last.
class CostCache {
 public:
  /// The cost of the algorithm's graphs. It is valid until the next call. The position of `shape`, its frame, and
  /// whether it is in place change nothing.
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
