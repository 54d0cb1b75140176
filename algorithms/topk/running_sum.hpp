#pragma once

#include <optional>

#include "algorithms/topk/capped.hpp"

namespace lacuna {

/// The message with the sum that a position has so far. It adds the messages of others one by one. Where messages are
/// capped, the sum never has more than k entries. It is written to two rooms in turn, because the message in the other
/// room may still be on its way.
class RunningSum {
 public:
  /// The sum is the result once `terms` messages are added. If `terms` is 0, it never is the result.
  RunningSum(GraphBuilder& g, Region own, std::size_t terms) : g_(g), sum_(own), terms_(terms) {}

  const Region& message() const { return sum_; }
  /// Receives the next message of that rank and adds it.
  void add(Rank from);

 private:
  void make_rooms();

  GraphBuilder& g_;
  Region sum_;
  std::size_t terms_;
  std::optional<sparse::MergeRooms> rooms_;  // made when the first message is added
  Region next_, other_;                      // rooms for the messages of sums
  CapRooms cap_rooms_;
};

}  // namespace lacuna
