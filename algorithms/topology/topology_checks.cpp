// The makers of a Topology that check what they are given.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "algorithms/topology/topology.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {
namespace {

Status refused(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

/// Returns Ok, or why `member` can't stand in a list of `position` in a topology of `size` positions.
Status check_member(const char* what, Rank position, Rank member, Rank size) {
  if (member >= 0 && member < size && member != position) return {};
  return refused(
      fmt::format("position {} has {} {}, must be another one of 0 .. {}", position, what, member, size - 1));
}

/// The first position to which no steps from `start` lead.
std::optional<Rank> first_unreached(const Topology::Lists& next, Rank start) {
  std::vector<bool> reached(next.size(), false);
  std::vector<Rank> open = {start};
  reached[static_cast<std::size_t>(start)] = true;
  while (!open.empty()) {
    const Rank at = open.back();
    open.pop_back();
    for (Rank there : next[static_cast<std::size_t>(at)]) {
      if (reached[static_cast<std::size_t>(there)]) continue;
      reached[static_cast<std::size_t>(there)] = true;
      open.push_back(there);
    }
  }
  const auto missed = std::find(reached.begin(), reached.end(), false);
  if (missed == reached.end()) return std::nullopt;
  return static_cast<Rank>(missed - reached.begin());
}

}  // namespace

Result<Topology> Topology::ring(const std::vector<Rank>& order) {
  const auto size = static_cast<Rank>(order.size());
  if (size < 1) return refused("the order of a ring is empty; it must hold 1 position or more");
  Topology ring(size);
  ring.dimensions_ = 1;
  ring.coordinates_.assign(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= size) {
      return refused(fmt::format("place {} of a ring has position {}, must be 0 .. {}", i, order[i], size - 1));
    }
    Rank& place = ring.coordinates_[static_cast<std::size_t>(order[i])];
    if (place >= 0) {
      return refused(
          fmt::format("places {} and {} of a ring have position {}; each must stand there once", place, i, order[i]));
    }
    place = static_cast<Rank>(i);
  }
  return ring;
}

Result<Topology> Topology::torus(Rank rows, Rank columns) {
  constexpr Rank most = std::numeric_limits<Rank>::max();
  if (rows < 1 || columns < 1 || rows > most / columns) {
    return refused(fmt::format("a torus of {} x {}: rows and columns must be 1 or more, of {} positions at most", rows,
                               columns, most));
  }
  Topology torus(rows * columns);
  torus.dimensions_ = 2;
  for (Rank i = 0; i < torus.size_; ++i) {
    torus.coordinates_.insert(torus.coordinates_.end(), {i / columns, i % columns});
  }
  return torus;
}

Result<Topology> Topology::hypercube(Rank size) {
  if (size < 1 || !std::has_single_bit(static_cast<unsigned>(size))) {
    return refused(fmt::format("a hypercube of {}: must be a power of two", count_of(size, "position")));
  }
  Topology cube(size);
  cube.dimensions_ = std::countr_zero(static_cast<unsigned>(size));
  for (Rank i = 0; i < size; ++i) {
    for (int d = 0; d < cube.dimensions_; ++d) cube.coordinates_.push_back(i >> d & 1);
  }
  return cube;
}

Result<Topology> Topology::from_parents(const std::vector<Rank>& parents) {
  const auto size = static_cast<Rank>(parents.size());
  Lists children(parents.size());
  std::optional<Rank> root;
  for (Rank i = 0; i < size; ++i) {
    const Rank parent = parents[static_cast<std::size_t>(i)];
    if (parent == -1) {
      if (root) return refused(fmt::format("positions {} and {} have no parent; a tree has one root", *root, i));
      root = i;
    } else if (Status possible = check_member("parent", i, parent, size); !possible) {
      return possible;
    } else {
      children[static_cast<std::size_t>(parent)].push_back(i);
    }
  }
  if (!root)
    return refused(fmt::format("none of {} is the root of the tree, with parent -1", count_of(size, "position")));
  if (const auto lost = first_unreached(children, *root)) {
    return refused(
        fmt::format("the parents of position {} go in a circle; they must lead to the root {}", *lost, *root));
  }
  Topology tree(size);
  tree.parents_ = parents;
  return tree;
}

Result<Topology> Topology::from_children(const Lists& children) {
  const auto size = static_cast<Rank>(children.size());
  std::vector<Rank> parents(children.size(), -1);
  for (Rank i = 0; i < size; ++i) {
    for (Rank child : children[static_cast<std::size_t>(i)]) {
      if (Status possible = check_member("child", i, child, size); !possible) return possible;
      Rank& parent = parents[static_cast<std::size_t>(child)];
      if (parent >= 0) {
        return refused(
            fmt::format("position {} is a child of {} and of {}; it must have one parent", child, parent, i));
      }
      parent = i;
    }
  }
  return from_parents(parents);
}

Result<Topology> Topology::from_neighbours(const Lists& neighbours) {
  const auto size = static_cast<Rank>(neighbours.size());
  if (size < 1) return refused("lists of neighbours of no position; there must be 1 or more");
  for (Rank i = 0; i < size; ++i) {
    const auto& own = neighbours[static_cast<std::size_t>(i)];
    for (Rank other : own) {
      if (Status possible = check_member("neighbour", i, other, size); !possible) return possible;
      if (std::count(own.begin(), own.end(), other) > 1) {
        return refused(fmt::format("position {} has neighbour {} twice; it must have it once", i, other));
      }
      const auto& back = neighbours[static_cast<std::size_t>(other)];
      if (std::find(back.begin(), back.end(), i) == back.end()) {
        return refused(
            fmt::format("position {} has neighbour {}, which has not {}; both must have each other", i, other, i));
      }
    }
  }
  if (const auto lost = first_unreached(neighbours, 0)) {
    return refused(fmt::format("no way leads from position 0 to {}; all positions must be connected", *lost));
  }
  Topology topology(size);
  topology.neighbours_ = neighbours;
  return topology;
}

}  // namespace lacuna
