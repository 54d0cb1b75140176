#include "algorithms/registry/gaps.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <tuple>

#include "algorithms/registry/registered.hpp"

namespace lacuna {
namespace {

using Ranks = std::vector<bool>;                        // by position
using Place = std::pair<std::uint32_t, std::uint32_t>;  // numerator and denominator

/// Follows the values of one cell through the graphs of all positions.
class Follower {
 public:
  using Touches = std::function<bool(const Region&)>;  // does a region, as it lies at its position, hold the cell?

  Follower(const std::vector<Graph>& graphs, Touches touches) : graphs_(graphs), touches_(std::move(touches)) {
    for (std::size_t me = 0; me < graphs.size(); ++me) {
      values_.emplace_back();
      Ranks own(graphs.size());
      own[me] = true;
      values_[me][{Buffer::Input, 0}] = own;
      waits_.emplace_back(graphs[me].predecessor_counts().begin(), graphs[me].predecessor_counts().end());
      for (StepId root : graphs[me].roots()) ready_.emplace_back(me, root);
    }
  }

  /// Whose values are in the output of each position at the end.
  std::vector<Ranks> arrived() {
    while (!ready_.empty()) {
      const auto [me, id] = ready_.front();
      ready_.pop_front();
      if (!execute(me, id)) continue;
      for (StepId next : graphs_[me].successors(id)) {
        if (--waits_[me][next] == 0) ready_.emplace_back(me, next);
      }
    }
    std::vector<Ranks> all;
    for (auto& values : values_) all.push_back(values[{Buffer::Output, 0}]);
    for (Ranks& ranks : all) ranks.resize(graphs_.size());
    return all;
  }

 private:
  using Channel = std::tuple<std::size_t, std::size_t, std::uint32_t>;  // sender, receiver, index
  using Memory = std::pair<Buffer, std::uint8_t>;

  Ranks read(std::size_t me, const Region& region) {
    const Region there = placed(graphs_[me], region, static_cast<Rank>(me));
    Ranks ranks = touches_(there) ? values_[me][{region.buffer, region.slot}] : Ranks();
    ranks.resize(graphs_.size());
    return ranks;
  }
  void write(std::size_t me, const Region& region, Ranks ranks) {
    if (touches_(placed(graphs_[me], region, static_cast<Rank>(me)))) {
      values_[me][{region.buffer, region.slot}] = std::move(ranks);
    }
  }

  /// False if a message has to come first; its send then executes the step again.
  bool execute(std::size_t me, StepId id) {
    const Step& step = graphs_[me].steps()[id];
    const std::size_t peer = (me + static_cast<std::size_t>(step.peer)) % graphs_.size();
    if (step.sends()) {
      messages_[{me, peer, step.index}] = read(me, step.from);
      const auto waiting = waiting_.find({me, peer, step.index});
      if (waiting != waiting_.end()) ready_.emplace_back(peer, waiting->second);
      return true;
    }
    Ranks result = step.reads() ? read(me, step.from) : Ranks(graphs_.size());
    if (step.receives()) {
      const auto message = messages_.find({peer, me, step.index});
      if (message == messages_.end()) {
        waiting_[{peer, me, step.index}] = id;
        return false;
      }
      for (std::size_t rank = 0; rank < result.size(); ++rank) result[rank] = result[rank] || message->second[rank];
    }
    write(me, step.to, std::move(result));
    return true;
  }

  const std::vector<Graph>& graphs_;
  Touches touches_;
  std::vector<std::map<Memory, Ranks>> values_;  // by position
  std::vector<std::vector<std::uint32_t>> waits_;
  std::deque<std::pair<std::size_t, StepId>> ready_;
  std::map<Channel, Ranks> messages_;
  std::map<Channel, StepId> waiting_;
};

/// The places where anything begins or ends, whatever the number of elements: numerator and denominator, ascending.
std::vector<Place> places_of(const std::vector<Graph>& graphs) {
  std::vector<Place> all = {{1, 1}};
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    for (const Step& step : graphs[me].steps()) {
      for (const Region& region : {step.to, step.from}) {
        if (region.is_signal()) continue;
        const Region there = placed(graphs[me], region, static_cast<Rank>(me));
        all.push_back({there.begin, there.of});
        all.push_back({there.end, there.of});
      }
    }
  }
  const auto cross = [](const Place& a, const Place& b) { return std::uint64_t{a.first} * b.second; };
  std::sort(all.begin(), all.end(), [&](const Place& a, const Place& b) { return cross(a, b) < cross(b, a); });
  all.erase(
      std::unique(all.begin(), all.end(), [&](const Place& a, const Place& b) { return cross(a, b) == cross(b, a); }),
      all.end());
  std::erase_if(all, [](const Place& place) { return place.first == 0; });
  return all;
}

}  // namespace

Gaps::Gaps(const Call& call, Rank size)
    : size_(size),
      has_blocks_(has_blocks(call.collective)),
      gathers_(traits_of(call.collective).output == Holds::Blocks),
      block_(call.count) {}

Gaps::Gaps(const PlanRequest& request, const Sampler& sampler) : Gaps(request.call, request.hosts.size()) {
  Plan plan;
  make_plan(request, plan);
  follow({request.call, request.algorithm, request.hosts, sampler}, plan);
}

Gaps::Gaps(const runtime::Run& run, const Hosts& hosts) : Gaps(run.call, hosts.size()) {
  follow({run.call, *run.algorithm, hosts, run.sampler}, run.plan);
}

void Gaps::follow(const Binding& binding, const Plan& plan) {
  const auto& [call, algorithm, hosts, sampler] = binding;
  std::map<std::pair<decltype(Structure::numbers), Rank>, std::shared_ptr<const std::vector<Cell>>> known;
  for (const PartPlan& planned : plan.parts) {
    if (planned.is_packed()) break;  // dense, and behind all others
    Part part{
        .data = planned.data, .order = order_of(binding, plan, static_cast<std::uint32_t>(parts_.size())), .cells = {}};
    // By position all parts fare alike unless their structures or the hosts differ, which go by the first one's.
    const Rank first = algorithm.by_hosts ? part.order.rank_of(0) : 0;
    auto& cells = known[{planned.structure.numbers, first}];
    if (!cells) {
      const Result<std::vector<Graph>> built =
          graphs_of(algorithm, part.order.placed(hosts), {.structure = {.numbers = planned.structure.numbers}});
      cells = std::make_shared<const std::vector<Cell>>(cells_of(*built));  // of a call that can be made
    }
    part.cells = cells;
    parts_.push_back(std::move(part));
  }
}

std::vector<Gaps::Cell> Gaps::cells_of(const std::vector<Graph>& graphs) const {
  std::vector<Cell> cells;
  if (has_blocks_) {
    for (std::uint32_t block = 0; block < static_cast<std::uint32_t>(size_); ++block) {
      Follower follower(graphs, [=](const Region& region) { return region.begin == block; });
      cells.push_back({{block + 1, static_cast<std::uint32_t>(size_)}, follower.arrived()});
    }
    return cells;
  }
  Region before{.of = 1};  // all that lies before the cell
  for (const Place& end : places_of(graphs)) {
    Follower follower(graphs, [&](const Region& region) {
      const auto reaches = [](std::uint32_t a, std::uint32_t of_a, std::uint32_t b, std::uint32_t of_b) {
        return std::uint64_t{a} * of_b <= std::uint64_t{b} * of_a;
      };
      return reaches(region.begin, region.of, before.end, before.of) &&
             reaches(end.first, end.second, region.end, region.of);
    });
    cells.push_back({end, follower.arrived()});
    before.end = end.first;
    before.of = end.second;
  }
  return cells;
}

std::vector<Gap> Gaps::of(Rank at) const {
  std::vector<Gap> all;
  const auto add = [&](std::size_t offset, std::size_t count, Rank from) {
    Gap* last = all.empty() ? nullptr : &all.back();
    if (last && last->from == from && last->offset + last->count == offset) {
      last->count += count;
    } else if (count > 0) {
      all.push_back({offset, count, from});
    }
  };
  for (Rank from = 0; from < size_; ++from) {
    for (const Part& part : parts_) {
      const auto position = [&](Rank rank) { return static_cast<std::size_t>(part.order.position_of(rank)); };
      const auto lacks = [&](const Cell& cell) { return !cell.arrived[position(at)][position(from)]; };
      if (has_blocks_) {
        const std::size_t before = gathers_ ? static_cast<std::size_t>(from) * block_ : 0;
        const bool missing = lacks((*part.cells)[position(gathers_ ? from : at)]);
        if (missing) add(before + part.data.offset, part.data.count, from);
        continue;
      }
      std::size_t begin = 0;
      for (const Cell& cell : *part.cells) {
        const std::size_t end = boundary(cell.end.first, part.data.count, cell.end.second);
        if (lacks(cell)) add(part.data.offset + begin, end - begin, from);
        begin = end;
      }
    }
  }
  return all;
}

}  // namespace lacuna
