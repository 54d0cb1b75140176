#pragma once

#include <bit>

#include "runtime/graph/builder.hpp"

namespace lacuna {

/// Scan over the positions from `first` to the last: the output becomes the reduction of the regions `own` of positions
/// first .. position(). In round k each position sends the reduction of the 2^k positions up to itself to the position
/// 2^k further.
/// It takes ceil(log2 n) rounds for n positions. Source: Hillis and Steele, Data parallel algorithms (1986).
inline void inclusive_scan(GraphBuilder& g, Region own, Rank first) {
  const Rank p = g.size(), me = g.position(), before = me - first;
  const int rounds = std::bit_width(static_cast<unsigned>(before));  // of these rounds each brings something
  const auto value = [&](int k) { return k == rounds ? g.output() : g.scratch(k % 2, g.output()); };
  Region sum = own;
  if (rounds == 0) {
    g.copy(g.output(), own);
    sum = g.output();
  }
  for (int k = 0; (1 << k) < p - first; ++k) {
    const Rank distance = 1 << k;
    if (me + distance < p) g.send(sum, me + distance);
    if (distance > before) continue;
    g.receive_reduce(value(k + 1), sum, me - distance, Brings::Sum);
    sum = value(k + 1);
  }
}

}  // namespace lacuna
