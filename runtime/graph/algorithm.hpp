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

/// Which rank stands at which position of a part's graph: rank = position + shift, around the number of ranks, or as a
/// list says.
class Order {
 public:
  Order(Rank size = 1, Rank shift = 0) : size_(size), shift_(shift) {}  // NOLINT: implicit by design
  /// The rank at each position: all of 0 .. P-1.
  explicit Order(std::vector<Rank> ranks) : size_(static_cast<Rank>(ranks.size())) {
    Tables tables{.ranks = std::move(ranks), .positions = std::vector<Rank>(at(size_))};
    for (Rank position = 0; position < size_; ++position) tables.positions[at(tables.ranks[at(position)])] = position;
    tables_ = std::make_shared<const Tables>(std::move(tables));
  }

  Rank size() const { return size_; }
  /// The hosts of the ranks, by position.
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
  std::shared_ptr<const Tables> tables_;  // null where the ranks are only shifted, as nearly always: quick to copy
};

struct Algorithm;

/// What an algorithm may look at to place the parts of a run: only values equal on all ranks.
struct Binding {
  const Call& call;
  const Algorithm& algorithm;
  const Hosts& hosts;      ///< of the ranks, whose number it knows
  const Sampler& sampler;  ///< with the draw of this call
};

/// The order in which the root stands at position 0, for Algorithm::order.
inline Order from_root(const Binding& binding, std::uint32_t) { return {binding.hosts.size(), binding.call.root}; }

/// An algorithm as constant data and functions. One file in algorithms/ defines it, one line of manifest.def lists it.
struct Algorithm {
  Collective collective;
  std::string_view name;
  std::string_view summary{};  ///< one line: steps and bytes per rank; of a method's own, Method::algorithms has it
  bool symmetric;              ///< its program mentions positions only in sums: one graph serves all of them
  bool by_hosts = false;       ///< its program asks for hosts()
  /// Ok, or why these options or so many ranks on these hosts are refused; null accepts all. Common checks come before.
  Status (*supports)(const Call& call, const Hosts& hosts) = nullptr;
  /// States one position's steps.
  void (*build)(GraphBuilder& graph) = nullptr;
  /// The order of the ranks in one part; null: rank = position.
  Order (*order)(const Binding& binding, std::uint32_t part) = nullptr;
  /// What its program can be told beside the ranks; null: nothing.
  const ParameterSet* parameters = nullptr;
};

/// What the algorithm states for the position that the shape names, and what its structure puts around that; if it is
/// symmetric, for all.
GraphBuilder program_of(const Algorithm& algorithm, const GraphShape& shape);

/// Its graph. Those of all positions are made by graphs_of.
inline Graph build_graph(const Algorithm& algorithm, const GraphShape& shape) {
  return program_of(algorithm, shape).build();
}

/// The same program for another collective: that of blocks of different lengths, say, which a program never sees.
constexpr Algorithm serving(Collective collective, std::string_view summary, Algorithm algorithm) {
  algorithm.collective = collective;
  algorithm.summary = summary;
  return algorithm;
}

}  // namespace lacuna
