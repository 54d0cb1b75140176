#pragma once

#include <string>
#include <vector>

#include "algorithms/topology/topology.hpp"

namespace lacuna::cli {

/// The arguments of `lacuna graph topology`.
struct TopologyOptions {
  std::string name;         ///< one of topology_names(): a shape, or what the lists hold
  Hosts hosts = 4;          ///< the hosts of the positions
  std::vector<Rank> sides;  ///< rows and columns of a torus; empty: as square as can be
  std::string lists;        ///< numbers by position, such as "1,2;3;;"; for a ring, its order
};

std::vector<std::string> topology_names();

/// Makes the topologies that the options describe, several if there are several trees. An error says why they describe
/// none.
Result<std::vector<Topology>> make_topologies(const TopologyOptions& options);

/// Shows trees indented below their roots, the positions of two-dimensional grids in their places, and what the
/// topology answers for each position.
std::string topology_table(const Topology& topology);

/// Shows the topology in Graphviz's language: arrows from parents to children, or lines between neighbours.
std::string topology_dot(const Topology& topology);

}  // namespace lacuna::cli
