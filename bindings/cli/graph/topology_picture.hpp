#pragma once

#include <string>
#include <vector>

#include "algorithms/topology/topology.hpp"

namespace lacuna::cli {

/// What `lacuna graph topology` was asked to draw.
struct TopologyOptions {
  std::string name;         ///< one of topology_names(): a shape, or what the lists hold
  Hosts hosts = 4;          ///< of the positions
  std::vector<Rank> sides;  ///< rows and columns of a torus; empty: as square as can be
  std::string lists;        ///< "1,2;3;;": numbers by position; of a ring, its order
};

std::vector<std::string> topology_names();

/// What the options describe, several where a topology has several trees; or why they describe none.
Result<std::vector<Topology>> make_topologies(const TopologyOptions& options);

/// Trees indented below their roots, the positions of two-dimensional grids in their places, and what each position
/// answers.
std::string topology_table(const Topology& topology);

/// The same in Graphviz's language: arrows from parents to children, or lines between neighbours.
std::string topology_dot(const Topology& topology);

}  // namespace lacuna::cli
