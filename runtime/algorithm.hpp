#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/builder.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Which rank stands at which position of a part's graph: rank = position + shift, around the number of ranks.
struct Order {
  Rank size = 1;
  Rank shift = 0;

  Rank rank_of(Rank position) const { return position + shift < size ? position + shift : position + shift - size; }
  Rank position_of(Rank rank) const { return rank - shift >= 0 ? rank - shift : rank - shift + size; }
};

/// What an algorithm may look at to place the parts of a run: only values equal on all ranks.
struct Binding {
  const Call& call;
  const Hosts& hosts;      ///< of the ranks, whose number it knows
  const Sampler& sampler;  ///< with the draw of this call
};

/// The order in which the root stands at position 0, for Algorithm::bind.
inline Order from_root(const Binding& binding, std::uint32_t) { return {binding.hosts.size(), binding.call.root}; }

/// An algorithm as constant data and functions. One file in algorithms/ defines it, one line of manifest.def lists it.
struct Algorithm {
  Collective collective;
  std::string_view name;
  std::string_view summary;  ///< one line: steps and bytes per rank
  bool symmetric;            ///< its program mentions positions only in sums: one graph serves all of them
  bool by_hosts = false;     ///< its program asks for hosts()
  /// Ok, or why these options or so many ranks on these hosts are refused; null accepts all. Common checks come before.
  Status (*supports)(const Call& call, const Hosts& hosts);
  /// States one position's steps.
  void (*build)(GraphBuilder& graph);
  /// The order of the ranks in one part; null: rank = position.
  Order (*bind)(const Binding& binding, std::uint32_t part);
};

/// The same program for another collective: that of blocks of different lengths, say, which a program never sees.
constexpr Algorithm serving(Collective collective, std::string_view summary, Algorithm algorithm) {
  algorithm.collective = collective;
  algorithm.summary = summary;
  return algorithm;
}

}  // namespace lacuna
