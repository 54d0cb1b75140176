#pragma once

#include "algorithms/ok_topk/steps.hpp"

namespace lacuna::ok {

/// The accumulator, looked through range by range. What is taken becomes one selection.
class Selecting {
 public:
  Selecting(GraphBuilder& g, const CutValues& cut);

  /// Entries [begin, end) of the selection: what has been taken of a range.
  struct Taken {
    Value begin = Value::None, end = Value::None;
    Region message;
  };
  /// Of all places.
  Taken take_all();
  /// Of the range of the rank at this distance, with its message in that room; the own one needs none.
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
