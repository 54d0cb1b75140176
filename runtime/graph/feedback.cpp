#include "runtime/graph/feedback.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/values/method_state.hpp"

namespace lacuna {
namespace {

/// In pieces so small that each was left out or not.
void clear_but_left_out(GraphBuilder& g, const Region& region) {
  const std::vector<Region> left_out = g.left_out();
  std::uint32_t of = region.of;
  for (const Region& left : left_out) of = std::lcm(of, left.of);
  const auto is_left_out = [&](std::uint32_t piece) {
    return std::any_of(left_out.begin(), left_out.end(), [&](const Region& left) {
      return piece >= left.begin * (of / left.of) && piece < left.end * (of / left.of);
    });
  };
  const std::uint32_t end = region.end * (of / region.of);
  for (std::uint32_t begin = region.begin * (of / region.of), next = begin; begin < end; begin = next) {
    const bool kept = is_left_out(begin);
    while (next < end && is_left_out(next) == kept) ++next;
    if (!kept) g.clear({.buffer = region.buffer, .of = of, .begin = begin, .end = next});
  }
}

}  // namespace

void add_to_residual(GraphBuilder& g) {
  const Region residual = g.buffer({.role = Role::State, .name = residual_array});
  std::vector<Region> input;
  for (Rank piece = 0; piece < g.size(); ++piece) input.push_back(g.input(piece));
  g.replace(Buffer::Input, residual.buffer);
  for (Rank piece = 0; piece < g.size(); ++piece) g.reduce(g.input(piece), input[static_cast<std::size_t>(piece)]);
}

void clear_contributed(GraphBuilder& g) {
  const Buffer residual = g.stands_for(Buffer::Input);
  std::vector<Region> contributed;
  for (const Step& step : g.steps()) {
    const bool reads = step.reads() && step.from.buffer == residual;
    if (reads && std::find(contributed.begin(), contributed.end(), step.from) == contributed.end()) {
      contributed.push_back(step.from);
    }
  }
  for (const Region& region : contributed) clear_but_left_out(g, region);
}

}  // namespace lacuna
