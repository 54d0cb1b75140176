#include "algorithms/topology/process_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lacuna {
namespace {

/// Returns lengths whose product is `size`, in descending order. Each is the greatest divisor of what is left that is
/// not above the root of it, with as many factors as are still to come.
std::vector<Rank> balanced_lengths(Rank size, int dimensions) {
  const auto fits = [](Rank length, int times, Rank whole) {  // length^times <= whole
    std::int64_t power = 1;
    for (int i = 0; i < times && power <= whole; ++i) power *= length;
    return power <= whole;
  };
  std::vector<Rank> lengths;
  for (int left = dimensions; left > 0; --left) {
    Rank best = 1;
    for (Rank length = 1; length <= size && fits(length, left, size); ++length) {
      if (size % length == 0) best = length;
    }
    lengths.push_back(left == 1 ? size : best);
    size /= best;
  }
  std::sort(lengths.rbegin(), lengths.rend());
  return lengths;
}

}  // namespace

Result<ProcessGrid> ProcessGrid::make(std::vector<Side> sides) {
  if (sides.empty()) return Status(Code::InvalidArgument, "a process grid needs one side or more");
  std::int64_t size = 1;
  for (std::size_t d = 0; d < sides.size(); ++d) {
    if (sides[d].length < 1) {
      return Status(Code::InvalidArgument,
                    fmt::format("side {} of the process grid has {} ranks, must have 1 or more", d, sides[d].length));
    }
    size *= sides[d].length;
    if (size > std::numeric_limits<Rank>::max()) {
      return Status(Code::InvalidArgument,
                    fmt::format("the process grid has more than {} ranks", std::numeric_limits<Rank>::max()));
    }
  }
  return ProcessGrid(std::move(sides), static_cast<Rank>(size));
}

Result<ProcessGrid> ProcessGrid::balanced(Rank size, int dimensions, bool periodic) {
  if (size < 1 || dimensions < 1) {
    return Status(Code::InvalidArgument, fmt::format("a process grid of {} ranks in {} dimensions: both must be 1 or "
                                                     "more",
                                                     size, dimensions));
  }
  std::vector<Side> sides;
  for (Rank length : balanced_lengths(size, dimensions)) sides.push_back({.length = length, .periodic = periodic});
  return make(std::move(sides));
}

std::vector<Rank> ProcessGrid::coordinates(Rank rank) const {
  std::vector<Rank> found(sides_.size());
  for (std::size_t d = sides_.size(); d-- > 0; rank /= sides_[d].length) found[d] = rank % sides_[d].length;
  return found;
}

Rank ProcessGrid::rank_at(const std::vector<Rank>& coordinates) const {
  Rank rank = 0;
  for (std::size_t d = 0; d < sides_.size(); ++d) {
    const Side& side = sides_[d];
    Rank at = coordinates[d];
    if (side.periodic) at = (at % side.length + side.length) % side.length;
    if (at < 0 || at >= side.length) return Neighbour::nobody;
    rank = rank * side.length + at;
  }
  return rank;
}

std::vector<Neighbour> ProcessGrid::neighbours(Rank rank) const {
  std::vector<Neighbour> found;
  std::vector<Rank> at = coordinates(rank);
  for (std::size_t d = 0; d < sides_.size(); ++d) {
    const Rank own = at[d];
    for (int behind : {0, 1}) {
      const int place = 2 * static_cast<int>(d) + behind;
      at[d] = own + (behind ? 1 : -1);
      found.push_back({.rank = rank_at(at), .send_direction = place, .receive_direction = place ^ 1});
    }
    at[d] = own;
  }
  return found;
}

std::vector<Neighbour> neighbours_of(const Topology& topology, Rank rank) {
  std::vector<Neighbour> found;
  for (Rank neighbour : topology.neighbours(rank)) found.push_back({.rank = neighbour});
  return found;
}

}  // namespace lacuna
