#pragma once

#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/phases/sparse_accumulator.hpp"

namespace lacuna::ok {

/// Ports of a kernel that selects from the accumulator, from all places or from one range.
struct SelectPorts {
  Reads input;
  Use above, ties, added;  ///< the cut (CutValues)
  Use before{};            ///< the end of what has been taken of earlier ranges
  sparse::WriteAccumulator accumulator;
  Write threshold;
  sparse::WriteList selected;
  Write workspace;
  Define begin{}, end{};  ///< what has been taken: the entries [begin, end) of the selection
  Rank ranges_to_come = 0;
};

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

  const Region& places() const { return ports_.selected.places.given(); }
  const Region& values() const { return ports_.selected.values.given(); }

 private:
  Taken next(Rank ranges_to_come);

  GraphBuilder& g_;
  SelectPorts ports_;
};

}  // namespace lacuna::ok
