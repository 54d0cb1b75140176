#include "runtime/graph/graph_cost.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/walk.hpp"

namespace lacuna::runtime {
namespace {

std::size_t elements_in(const Region& region, bool has_blocks, std::size_t count) {
  if (region.is_signal() || region.is_counted()) return 0;
  if (has_blocks) return count;
  return boundary(region.end, count, region.of) - boundary(region.begin, count, region.of);
}

DataAmount amount_of(std::optional<Dtype> element, std::size_t elements) {
  return element ? DataAmount{.bytes = elements * size_of(*element)} : DataAmount{.elements = elements};
}

/// Does the graph tell how much the region holds?
bool is_foreseen(const Graph& graph, const Region& region) {
  return !region.is_counted() && graph.buffer(region).is_like_data();
}

}  // namespace

DataAmount amount_in(const Graph& graph, const Region& region, Rank position, std::size_t count) {
  if (!is_foreseen(graph, region)) return {};
  return amount_of(graph.buffer(region).element,
                   elements_in(placed(graph, region, position), has_blocks(graph.shape().collective), count));
}

int rounds_of(std::span<const Graph* const> graphs) {
  const Walk walk(graphs);
  std::vector<int> rounds(walk.steps(), 0);  // by step: messages in the longest chain before it
  int sent = 0, met = 0, longest = 0;
  for (const Walk::Stop& at : walk.order()) {
    int& here = rounds[at.number];
    if (at.step->receives()) here = std::max(here, sent + 1);
    if (at.step->meets()) here = met = std::max(here + 1, met);
    sent = here;
    longest = std::max(longest, here);
    walk.each_later(at, [&](std::size_t next) { rounds[next] = std::max(rounds[next], here); });
  }
  return longest;
}

GraphCost::GraphCost(Graphs graphs) : rounds_(rounds_of(graphs.distinct())) {
  const bool one_for_all = graphs.distinct().size() == 1;
  for (Rank position = 0; position < graphs.size(); ++position) {
    const Graph& graph = graphs.at(position);
    has_blocks_ = has_blocks(graph.shape().collective);
    note_finals(graph, position);
    if (!one_for_all) moves_.push_back(moves_of(graph, position));
  }
  if (one_for_all) program_ = std::move(graphs);
}

GraphCost::Moves GraphCost::moves_of(const Graph& graph, Rank position) {
  Moves moves;
  for (const Step& step : graph.steps()) {
    if (step.meets()) {
      const Move row{placed(graph, step.from, position), graph.buffer(step.from).element};
      for (auto* side : {&moves.sent, &moves.received}) {
        side->insert(side->end(), static_cast<std::size_t>(graph.shape().size) - 1, row);
      }
    }
    if (!step.sends() && !step.receives()) continue;
    const Region& region = step.sends() ? step.from : step.to;
    if (is_foreseen(graph, region)) {
      (step.sends() ? moves.sent : moves.received)
          .push_back({placed(graph, region, position), graph.buffer(region).element});
    } else {
      moves.depends = true;
    }
  }
  for (const Region& region : graph.tables().lacking) moves.lacking.push_back(placed(graph, region, position));
  return moves;
}

void GraphCost::note_finals(const Graph& graph, Rank position) {
  for (const Step& step : graph.steps()) {
    if (step.contributors > 0) finals_.push_back({placed(graph, step.to, position), step.contributors});
  }
}

DataAmount GraphCost::sum(const std::vector<Move>& moves, std::size_t count) const {
  DataAmount all;
  for (const Move& move : moves) all += amount_of(move.element, elements_in(move.region, has_blocks_, count));
  return all;
}

PartCost GraphCost::fold(Rank position, std::size_t count) const {
  if (moves_.empty() && program_.size() == 0) return {};
  const Moves& moves =
      moves_.empty() ? moves_of(program_.at(position), position) : moves_[static_cast<std::size_t>(position)];
  PartCost cost{.rounds = rounds_,
                .sent = sum(moves.sent, count),
                .received = sum(moves.received, count),
                .depends_on_data = moves.depends};
  for (const Region& region : moves.lacking) cost.lacking += elements_in(region, has_blocks_, count);
  for (const Final& final : finals_) {
    const std::size_t length = elements_in(final.region, has_blocks_, count);
    if (length == 0) continue;
    cost.fewest = cost.reduced == 0 ? final.contributors : std::min(cost.fewest, final.contributors);
    cost.reduced += length;
    cost.contributions += length * static_cast<std::uint64_t>(final.contributors);
  }
  return cost;
}

const PartCost& GraphCost::of(Rank position, std::size_t count) {
  for (const Known& known : known_) {
    if (known.position == position && known.count == count) return known.cost;
  }
  Known& next = known_[oldest_++ % known_.size()];
  next = {position, count, fold(position, count)};
  return next.cost;
}

GraphCost& CostCache::get(const Algorithm& algorithm, GraphShape shape) {
  shape.position = 0;
  shape.structure.in_place = shape.structure.maps_copies = false;
  shape.structure.frame = nullptr;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.algorithm == &algorithm && entry.shape == shape;
  });
  if (found != entries_.end()) {
    if (found != entries_.begin()) entries_.splice(entries_.begin(), entries_, found);
    return found->cost;
  }
  Result<Graphs> graphs = graphs_of(algorithm, algorithm.by_hosts ? shape.hosts : Hosts(shape.size), shape);
  entries_.push_front({&algorithm, shape, GraphCost(graphs ? *std::move(graphs) : Graphs())});
  if (entries_.size() > capacity) entries_.pop_back();
  return entries_.front().cost;
}

}  // namespace lacuna::runtime
