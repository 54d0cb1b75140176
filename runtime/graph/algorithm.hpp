#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/builder.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Says which rank stands at which position of a part: rank = position + shift, modulo the number of ranks, or as a
/// list says.
class Order {
 public:
  Order(Rank size = 1, Rank shift = 0) : size_(size), shift_(shift) {}  // NOLINT: implicit by design
  /// `ranks` holds the rank at each position: each of 0 .. P-1 once.
  explicit Order(std::vector<Rank> ranks) : size_(static_cast<Rank>(ranks.size())) {
    Tables tables{.ranks = std::move(ranks), .positions = std::vector<Rank>(at(size_))};
    for (Rank position = 0; position < size_; ++position) tables.positions[at(tables.ranks[at(position)])] = position;
    tables_ = std::make_shared<const Tables>(std::move(tables));
  }

  Rank size() const { return size_; }
  /// The host of each position, from the host of each rank.
  Hosts placed(const Hosts& by_rank) const { return tables_ ? by_rank.of(tables_->ranks) : by_rank.turned(shift_); }
  Rank rank_of(Rank position) const {
    if (tables_) return tables_->ranks[at(position)];
    return position + shift_ < size_ ? position + shift_ : position + shift_ - size_;
  }
  Rank position_of(Rank rank) const {
    if (tables_) return tables_->positions[at(rank)];
    return rank - shift_ >= 0 ? rank - shift_ : rank - shift_ + size_;
  }

 private:
  struct Tables {
    std::vector<Rank> ranks;      // by position
    std::vector<Rank> positions;  // by rank
  };

  static std::size_t at(Rank index) { return static_cast<std::size_t>(index); }

  Rank size_, shift_ = 0;
  // Null if the ranks are only shifted, as they nearly always are. Such an order is cheap to copy.
  std::shared_ptr<const Tables> tables_;
};

struct Algorithm;

/// What an algorithm may look at to order the ranks in a part. It must use only what is equal on all ranks.
struct Binding {
  const Call& call;
  const Algorithm& algorithm;
  const Hosts& hosts;      ///< the host of each rank, and how many ranks there are
  const Sampler& sampler;  ///< the sampler, with the draw of this call
};

/// An Algorithm::order in which the root stands at position 0.
inline Order from_root(const Binding& binding, std::uint32_t) { return {binding.hosts.size(), binding.call.root}; }

/// An algorithm: constant data and functions. One file in algorithms/ defines it, and one line of manifest.def lists
/// it.
struct Algorithm {
  Collective collective;
  std::string_view name;
  std::string_view summary{};  ///< one line: rounds and bytes per rank; empty if Method::algorithms has it
  bool symmetric;              ///< its program uses positions only in sums, so that one graph serves all of them
  bool by_hosts = false;       ///< its program calls GraphBuilder::hosts()
  bool on_board = false;       ///< its program calls GraphBuilder::board_reduce(), so that a part fits into a row
  bool maps_copies = false;    ///< its program calls GraphBuilder::mappable()
  /// Returns ok, or why the algorithm refuses these options, or this number of ranks on these hosts. Null: it accepts
  /// all. The checks that all algorithms share come first.
  Status (*supports)(const Call& call, const Hosts& hosts) = nullptr;
  /// The program: states the steps of one position.
  void (*build)(GraphBuilder& graph) = nullptr;
  /// Returns the order of the ranks in one part. Null: each rank is its position.
  Order (*order)(const Binding& binding, std::uint32_t part) = nullptr;
  /// Describes the parameters of its program. Null: it has none.
  const ParameterSet* parameters = nullptr;
};

/// Returns ok, or why the algorithm does not serve this call, without a method, of ranks on these hosts: it needs a
/// board that is not there or too small, or it refuses.
Status serves(const Algorithm& algorithm, const Call& call, const Hosts& hosts);

/// May the program send copies that other ranks of the host map and read? If there are several hosts, a program that is
/// not by_hosts may not, because it would also copy what it sends to other hosts.
inline bool may_map_copies(const Algorithm& algorithm, const Hosts& hosts) {
  return algorithm.maps_copies && (algorithm.by_hosts || hosts.count() == 1);
}

/// Runs the program for the position of the shape, within the frame of its structure. If the algorithm is symmetric,
/// the result serves all positions.
GraphBuilder program_of(const Algorithm& algorithm, const GraphShape& shape);

/// The graph of the program for one position. graphs_of makes the graphs of all positions.
inline Graph build_graph(const Algorithm& algorithm, const GraphShape& shape) {
  return program_of(algorithm, shape).build();
}

/// An algorithm with the same program for another collective, for instance for the one whose blocks differ in length: a
/// program never sees these lengths.
constexpr Algorithm serving(Collective collective, std::string_view summary, Algorithm algorithm) {
  algorithm.collective = collective;
  algorithm.summary = summary;
  return algorithm;
}

}  // namespace lacuna
