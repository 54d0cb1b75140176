#include "runtime/graph/contributions.hpp"

#include <algorithm>
#include <map>

#include "runtime/graph/walk.hpp"

namespace lacuna {
namespace {

using Ranks = std::vector<bool>;                        // by position; those behind the last true one may be missing
using Place = std::pair<std::uint32_t, std::uint32_t>;  // numerator and denominator

bool reaches(const Place& a, const Place& b) {
  return std::uint64_t{a.first} * b.second <= std::uint64_t{b.first} * a.second;
}

void add(Ranks& to, const Ranks& more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t rank = 0; rank < more.size(); ++rank) to[rank] = to[rank] || more[rank];
}

/// Is it unknown which elements of the part's data the region holds?
bool is_any_place(const Graph& graph, const Region& region) {
  return region.is_counted() || !graph.buffer(region).is_like_data();
}

/// Whatever a kernel reads, and whatever lay where it writes, may then be in everything that it writes.
template <class Held>
void follow_kernel(const KernelStep& step, Held held) {
  Ranks result;
  for (const auto* regions : {&step.reads, &step.writes}) {
    for (const Region& region : *regions) {
      if (const Ranks* from = held(region)) add(result, *from);
    }
  }
  for (const Region& region : step.writes) {
    if (Ranks* to = held(region)) add(*to, result);
  }
}

/// Whose values are in the output of each position at the end, in the cell between two places.
std::vector<Ranks> arrived(std::span<const Graph* const> graphs, const Walk& walk, Place begin, Place end) {
  std::vector<std::map<Buffer, Ranks>> values(graphs.size());  // by position, then by buffer
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    Ranks& own = values[me][Buffer::Input];
    own.resize(me + 1);
    own[me] = true;
  }
  Ranks sent;  // what the last message carries; its receive comes next
  Ranks met;   // what all steps of a meeting read together; the order has these steps one behind the other
  for (const Walk::Stop& at : walk.order()) {
    const auto held_at = [&](Rank position, const Region& region) -> Ranks* {
      const auto me = static_cast<std::size_t>(position);
      const Region there = placed(*graphs[me], region, position);
      if (there.is_signal()) return nullptr;
      const bool holds = is_any_place(*graphs[me], there) ||
                         (reaches({there.begin, there.of}, begin) && reaches(end, {there.end, there.of}));
      return holds ? &values[me][there.buffer] : nullptr;
    };
    const auto held = [&](const Region& region) { return held_at(at.position, region); };
    if (at.step->kind == StepKind::Kernel) {
      follow_kernel(graphs[static_cast<std::size_t>(at.position)]->kernel(*at.step), held);
      continue;
    }
    if (at.step->kind == StepKind::Release) continue;
    const Ranks* from = at.step->reads() ? held(at.step->from) : nullptr;
    Ranks result = from ? *from : Ranks();
    if (at.step->receives()) add(result, sent);
    if (at.step->meets() && at.position == 0) {
      met.clear();
      for (Rank position = 0; position < static_cast<Rank>(graphs.size()); ++position) {
        if (const Ranks* more = held_at(position, at.step->from)) add(met, *more);
      }
    }
    if (at.step->meets()) result = met;
    Ranks* to = at.step->writes() ? held(at.step->to) : &sent;
    if (!to) continue;
    if (at.step->kind == StepKind::Reduce) add(result, *to);
    *to = std::move(result);
  }
  std::vector<Ranks> all;
  for (auto& memory : values) {
    const bool goes_on = !graphs[all.size()]->tables().decides.empty();  // what follows may bring the rest
    all.push_back(goes_on ? Ranks(graphs.size(), true) : std::move(memory[Buffer::Output]));
    all.back().resize(graphs.size());
  }
  return all;
}

/// The places where a region begins or ends, ascending, without the place 0.
std::vector<Place> places_of(std::span<const Graph* const> graphs) {
  std::vector<Place> all = {{1, 1}};
  const GraphShape& shape = graphs.front()->shape();
  const std::uint32_t blocks = has_blocks(shape.collective) ? static_cast<std::uint32_t>(shape.size) : 1;
  for (std::uint32_t block = 1; block < blocks; ++block) all.push_back({block, blocks});
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    for (const Step& step : graphs[me]->steps()) {
      graphs[me]->each_access(step, [&](const Region& region, bool) {
        if (is_any_place(*graphs[me], region)) return;
        const Region there = placed(*graphs[me], region, static_cast<Rank>(me));
        if (there.begin > 0) all.push_back({there.begin, there.of});
        if (there.end > 0) all.push_back({there.end, there.of});
      });
    }
  }
  std::sort(all.begin(), all.end(), [](const Place& a, const Place& b) { return !reaches(b, a); });
  all.erase(std::unique(all.begin(), all.end(), [](const Place& a, const Place& b) { return reaches(b, a); }),
            all.end());
  return all;
}

}  // namespace

std::vector<CellContributions> contributions_of(std::span<const Graph* const> graphs) {
  const Walk walk(graphs);
  std::vector<CellContributions> cells;
  Place begin = {0, 1};
  for (const Place& end : places_of(graphs)) {
    cells.push_back({end, arrived(graphs, walk, begin, end)});
    begin = end;
  }
  return cells;
}

}  // namespace lacuna
