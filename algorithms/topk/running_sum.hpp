#pragma once

#include <optional>
#include <vector>

#include "algorithms/topk/capped.hpp"

namespace lacuna {

/// The message of all that a position has summed so far, to which it adds those of others, one by one; where messages
/// are capped, never more than k entries. It rests in one of two places in turn: the other may still be on its way.
class RunningSum {
 public:
  /// Once so many are added it is the result; 0: it never is.
  RunningSum(GraphBuilder& g, Region own, std::size_t terms) : g_(g), sum_(own), terms_(terms) {}

  const Region& message() const { return sum_; }
  /// The next message of that rank.
  void add(Rank from);

 private:
  void make_rooms();

  GraphBuilder& g_;
  Region sum_;
  std::size_t terms_;
  std::optional<sparse::MergeRooms> rooms_;  // made when something is added
  Region other_;
  std::vector<Region> cap_rooms_;
};

}  // namespace lacuna
