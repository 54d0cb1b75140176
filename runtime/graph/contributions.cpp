#include "runtime/graph/contributions.hpp"

#include <algorithm>
#include <map>

#include "runtime/graph/walk.hpp"

namespace lacuna {
namespace {

using Ranks = std::vector<bool>;                        // by position; empty: nobody
using Place = std::pair<std::uint32_t, std::uint32_t>;  // numerator and denominator

bool reaches(const Place& a, const Place& b) {
  return std::uint64_t{a.first} * b.second <= std::uint64_t{b.first} * a.second;
}

void add(Ranks& to, const Ranks& more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t rank = 0; rank < more.size(); ++rank) to[rank] = to[rank] || more[rank];
}

/// Follows the values of one cell after the other through the graphs of all positions.
class Follower {
 public:
  explicit Follower(std::span<const Graph* const> graphs) : graphs_(graphs), walk_(graphs) {}

  /// Whose values are in the output of each position at the end. touches(region): does it hold the cell?
  template <class Touches>
  std::vector<Ranks> arrived(Touches touches) const {
    std::vector<std::map<Memory, Ranks>> values(graphs_.size());  // by position
    for (std::size_t me = 0; me < graphs_.size(); ++me) {
      add(values[me][{Buffer::Input, 0}], only(me));
    }
    Ranks sent;  // by a message, whose receive comes next
    for (const Walk::Stop& at : walk_.order()) {
      const auto held = [&](const Region& region) -> Ranks* {
        const auto me = static_cast<std::size_t>(at.position);
        if (region.is_signal() || !touches(placed(*graphs_[me], region, at.position))) return nullptr;
        return &values[me][{region.buffer, region.slot}];
      };
      const Ranks* from = at.step->reads() ? held(at.step->from) : nullptr;
      Ranks result = from ? *from : Ranks();
      if (at.step->receives()) add(result, sent);
      Ranks* to = at.step->writes() ? held(at.step->to) : &sent;
      if (!to) continue;
      if (at.step->kind == StepKind::Reduce) add(result, *to);
      *to = std::move(result);
    }
    return outputs(values);
  }

 private:
  using Memory = std::pair<Buffer, std::uint8_t>;

  Ranks only(std::size_t me) const {
    Ranks ranks(graphs_.size());
    ranks[me] = true;
    return ranks;
  }
  std::vector<Ranks> outputs(std::vector<std::map<Memory, Ranks>>& values) const {
    std::vector<Ranks> all;
    for (auto& of : values) all.push_back(std::move(of[{Buffer::Output, 0}]));
    for (Ranks& ranks : all) ranks.resize(graphs_.size());
    return all;
  }

  std::span<const Graph* const> graphs_;
  Walk walk_;
};

/// The places where anything begins or ends, whatever the number of elements: ascending, without the first.
std::vector<Place> places_of(std::span<const Graph* const> graphs) {
  std::vector<Place> all = {{1, 1}};
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    for (const Step& step : graphs[me]->steps()) {
      for (const Region& region : {step.to, step.from}) {
        const Region there = placed(*graphs[me], region, static_cast<Rank>(me));
        if (there.begin > 0) all.push_back({there.begin, there.of});
        if (there.end > 0) all.push_back({there.end, there.of});
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Place& a, const Place& b) { return !reaches(b, a); });
  all.erase(std::unique(all.begin(), all.end(), [](const Place& a, const Place& b) { return reaches(b, a); }),
            all.end());
  return all;
}

std::vector<CellContributions> by_block(const Follower& follower, std::uint32_t size) {
  std::vector<CellContributions> cells;
  for (std::uint32_t block = 0; block < size; ++block) {
    cells.push_back({{block + 1, size}, follower.arrived([=](const Region& region) { return region.begin == block; })});
  }
  return cells;
}

}  // namespace

std::vector<CellContributions> contributions_of(std::span<const Graph* const> graphs) {
  const Follower follower(graphs);
  const GraphShape& shape = graphs.front()->shape();
  if (has_blocks(shape.collective)) return by_block(follower, static_cast<std::uint32_t>(shape.size));
  std::vector<CellContributions> cells;
  Place begin = {0, 1};
  for (const Place& end : places_of(graphs)) {
    const auto holds_cell = [&](const Region& region) {
      return reaches({region.begin, region.of}, begin) && reaches(end, {region.end, region.of});
    };
    cells.push_back({end, follower.arrived(holds_cell)});
    begin = end;
  }
  return cells;
}

}  // namespace lacuna
