#include "runtime/graph/graph_cost.hpp"

#include <algorithm>
#include <utility>

namespace lacuna::runtime {
namespace {

/// Steps of all positions in an order in which each comes after those that it waits for; and what each waits for.
class Chain {
 public:
  explicit Chain(std::span<const Graph> graphs) : graphs_(graphs), lengths_(graphs.size()), waits_(graphs.size()) {
    for (std::size_t me = 0; me < graphs.size(); ++me) {
      const Graph& graph = graphs[me];
      lengths_[me].assign(graph.steps().size(), 0);
      waits_[me].assign(graph.predecessor_counts().begin(), graph.predecessor_counts().end());
      for (StepId id = 0; id < graph.steps().size(); ++id) {
        if (graph.steps()[id].receives()) ++waits_[me][id];  // for its message
      }
      for (StepId root : graph.roots()) release(me, root);
    }
  }

  /// The number of messages in the longest one.
  int length() {
    int longest = 0;
    while (!ready_.empty()) {
      const auto [me, id] = ready_.back();
      ready_.pop_back();
      const Step& step = graphs_[me].steps()[id];
      longest = std::max(longest, lengths_[me][id]);
      for (StepId next : graphs_[me].successors(id)) follow(me, next, lengths_[me][id]);
      if (!step.sends()) continue;
      const Rank size = graphs_[me].shape().size;
      const std::size_t to = (me + static_cast<std::size_t>(step.peer)) % graphs_.size();
      follow(to, *graphs_[to].receiver((size - step.peer) % size, step.index), lengths_[me][id] + 1);
    }
    return longest;
  }

 private:
  void release(std::size_t me, StepId id) {
    if (waits_[me][id] == 0) ready_.emplace_back(me, id);
  }
  void follow(std::size_t me, StepId id, int length) {
    lengths_[me][id] = std::max(lengths_[me][id], length);
    --waits_[me][id];
    release(me, id);
  }

  std::span<const Graph> graphs_;
  std::vector<std::vector<int>> lengths_;          // by position and step: messages up to its end
  std::vector<std::vector<std::uint32_t>> waits_;  // likewise: steps and messages that have not come
  std::vector<std::pair<std::size_t, StepId>> ready_;
};

std::size_t elements_in(const Region& region, bool has_blocks, std::size_t count) {
  if (region.is_signal()) return 0;
  if (has_blocks) return count;
  return boundary(region.end, count, region.of) - boundary(region.begin, count, region.of);
}

}  // namespace

std::size_t elements_in(const Graph& graph, const Region& region, Rank position, std::size_t count) {
  return elements_in(placed(graph, region, position), has_blocks(graph.shape().collective), count);
}

int rounds_of(std::span<const Graph> graphs) { return Chain(graphs).length(); }

GraphCost::GraphCost(const Algorithm& algorithm, GraphShape shape) : has_blocks_(has_blocks(shape.collective)) {
  std::vector<Graph> graphs;
  for (shape.position = 0; shape.position < (algorithm.symmetric ? 1 : shape.size); ++shape.position) {
    graphs.push_back(build_graph(algorithm, shape));
  }
  rounds_ = rounds_of(graphs);
  for (Rank position = 0; position < shape.size; ++position) {
    const Graph& graph = graphs[algorithm.symmetric ? 0 : static_cast<std::size_t>(position)];
    note_finals(graph, position);
    if (!algorithm.symmetric) moves_.push_back(moves_of(graph, position));
  }
  if (algorithm.symmetric) program_ = std::move(graphs);
}

GraphCost::Moves GraphCost::moves_of(const Graph& graph, Rank position) {
  Moves moves;
  for (const Step& step : graph.steps()) {
    if (step.sends()) moves.sent.push_back(placed(graph, step.from, position));
    if (step.receives()) moves.received.push_back(placed(graph, step.to, position));
  }
  for (const Region& region : graph.lacking()) moves.lacking.push_back(placed(graph, region, position));
  return moves;
}

void GraphCost::note_finals(const Graph& graph, Rank position) {
  for (const Step& step : graph.steps()) {
    if (step.contributors > 0) finals_.push_back({placed(graph, step.to, position), step.contributors});
  }
}

std::uint64_t GraphCost::sum(const std::vector<Region>& regions, std::size_t count) const {
  std::uint64_t elements = 0;
  for (const Region& region : regions) elements += elements_in(region, has_blocks_, count);
  return elements;
}

PartCost GraphCost::fold(Rank position, std::size_t count) const {
  const Moves& moves = program_.empty() ? moves_[static_cast<std::size_t>(position)] : moves_of(program_[0], position);
  PartCost cost{.rounds = rounds_,
                .sent = sum(moves.sent, count),
                .received = sum(moves.received, count),
                .lacking = sum(moves.lacking, count)};
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
  shape.structure.in_place = shape.structure.feedback = false;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.algorithm == &algorithm && entry.shape == shape;
  });
  if (found != entries_.end()) {
    if (found != entries_.begin()) entries_.splice(entries_.begin(), entries_, found);
    return found->cost;
  }
  entries_.push_front({&algorithm, shape, GraphCost(algorithm, shape)});
  if (entries_.size() > capacity) entries_.pop_back();
  return entries_.front().cost;
}

}  // namespace lacuna::runtime
