#pragma once

#include "algorithms/ok_topk/steps.hpp"

namespace lacuna::ok {

/// Selects from the accumulator range by range. All that is taken becomes one selection.
class Selecting {
 public:
  Selecting(GraphBuilder& g, const CutValues& cut);

  /// What has been taken of one range: the entries [begin, end) of the selection.
  struct Taken {
    Value begin = Value::None, end = Value::None;
    Region message;
  };
  /// Selects from all places at once.
  Taken take_all();
  /// Selects from the range of the rank at this distance, and writes the message for that rank to `room`. The own
  /// range, at distance 0, has no message.
  Taken take(const Region& ranges, Rank distance, const Region& room);

  const Region& places() const { return selected_.places; }
  const Region& values() const { return selected_.values; }

 private:
  std::vector<Region> writes() const;

  GraphBuilder& g_;
  std::vector<Value> uses_;
  std::vector<Region> kept_;  // the accumulator, and the threshold
  sparse::Selection selected_;
  Region workspace_;
};

}  // namespace lacuna::ok
