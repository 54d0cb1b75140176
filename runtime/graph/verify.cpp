#include "runtime/graph/verify.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace lacuna {
namespace {

using Channel = std::tuple<Rank, Rank, std::uint32_t>;  // sender, receiver, index

struct Message {
  StepId send = 0, receive = 0;
  bool sent = false, received = false;
  Region from, to;
};

Rank peer_position(const Graph& graph, const Step& step, Rank position) {
  return (position + step.peer) % graph.shape().size;
}

std::string interval(const Region& region) {
  if (region.is_signal()) return "a signal";
  return fmt::format("[{}, {}) of {}", region.begin, region.end, region.of);
}

std::map<Channel, Message> collect_messages(std::span<const Graph* const> graphs, Status& twice) {
  std::map<Channel, Message> messages;
  for (Rank me = 0; me < static_cast<Rank>(graphs.size()); ++me) {
    const Graph& graph = *graphs[static_cast<std::size_t>(me)];
    for (StepId id = 0; id < graph.steps().size(); ++id) {
      const Step& step = graph.steps()[id];
      if (!step.sends() && !step.receives()) continue;
      const Rank peer = peer_position(graph, step, me);
      Message& message = messages[step.sends() ? Channel(me, peer, step.index) : Channel(peer, me, step.index)];
      if (step.sends() ? message.sent : message.received) {
        twice = Status(Code::InvalidArgument, fmt::format("position {} step {}: message {} with position {} is named "
                                                          "twice",
                                                          me, id, step.index, peer));
      }
      (step.sends() ? message.sent : message.received) = true;
      (step.sends() ? message.send : message.receive) = id;
      (step.sends() ? message.from : message.to) = placed(graph, step.sends() ? step.from : step.to, me);
    }
  }
  return messages;
}

/// Where both buffers hold blocks, the sender's block for the receiver becomes the receiver's block of the sender.
/// Where only two ranks know how long a block is, it goes straight from the one to the other; position 0 is the root.
bool fit(Collective collective, Rank sender, Rank receiver, const Message& message) {
  const CollectiveTraits& traits = traits_of(collective);
  const auto is_block = [](const Region& region, Rank rank) {
    return region.begin == static_cast<std::uint32_t>(rank) && region.end == region.begin + 1;
  };
  if (traits.input == Holds::Blocks && traits.output == Holds::Blocks) {
    return is_block(message.from, receiver) && is_block(message.to, sender);
  }
  if (!same_interval(message.from, message.to)) return false;
  if (traits.lengths != Lengths::Told) return true;
  return traits.input == Holds::Data ? receiver == 0 && is_block(message.from, sender)
                                     : sender == 0 && is_block(message.from, receiver);
}

Status check_messages(Collective collective, const std::map<Channel, Message>& messages) {
  for (const auto& [channel, message] : messages) {
    const auto [sender, receiver, index] = channel;
    if (!message.received) {
      return {Code::InvalidArgument, fmt::format("position {} step {}: send {} to position {} meets no receive", sender,
                                                 message.send, index, receiver)};
    }
    if (!message.sent) {
      return {Code::InvalidArgument, fmt::format("position {} step {}: receive {} from position {} meets no send",
                                                 receiver, message.receive, index, sender)};
    }
    if (!fit(collective, sender, receiver, message)) {
      const char* reason = traits_of(collective).lengths == Lengths::Told && same_interval(message.from, message.to)
                               ? ": only two ranks know this block's length, so it "
                                 "must go straight from one to the other"
                               : "";
      return {Code::InvalidArgument,
              fmt::format("message {} from position {} step {} to position {} step {}: sends {}, receives {}{}", index,
                          sender, message.send, receiver, message.receive, interval(message.from), interval(message.to),
                          reason)};
    }
  }
  return {};
}

// Each step has two events: its start (2 i) and its end (2 i + 1). A send ends after the start of its receive, a
// receive ends after the start of its send. What Kahn's algorithm cannot order lies on, or behind, a cycle.
Status check_cycles(std::span<const Graph* const> graphs, const std::map<Channel, Message>& messages) {
  std::vector<std::size_t> first(graphs.size() + 1, 0);
  for (std::size_t me = 0; me < graphs.size(); ++me) first[me + 1] = first[me] + graphs[me]->steps().size();
  const auto event = [&](std::size_t position, StepId step, bool end) {
    return 2 * (first[position] + step) + (end ? 1 : 0);
  };
  std::vector<std::vector<std::size_t>> next(2 * first.back());
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    for (StepId id = 0; id < graphs[me]->steps().size(); ++id) {
      next[event(me, id, false)].push_back(event(me, id, true));
      for (StepId later : graphs[me]->successors(id)) next[event(me, id, true)].push_back(event(me, later, false));
    }
  }
  for (const auto& [channel, message] : messages) {
    const auto sender = static_cast<std::size_t>(std::get<0>(channel));
    const auto receiver = static_cast<std::size_t>(std::get<1>(channel));
    next[event(receiver, message.receive, false)].push_back(event(sender, message.send, true));
    next[event(sender, message.send, false)].push_back(event(receiver, message.receive, true));
  }

  std::vector<std::size_t> waits(next.size(), 0), ready;
  for (const auto& targets : next) {
    for (std::size_t target : targets) ++waits[target];
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t done = ready.back();
    ready.pop_back();
    for (std::size_t target : next[done]) {
      if (--waits[target] == 0) ready.push_back(target);
    }
  }
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    for (StepId id = 0; id < graphs[me]->steps().size(); ++id) {
      if (waits[event(me, id, true)] != 0) {
        return {Code::InvalidArgument,
                fmt::format("position {} step {} can never end if sends wait for their receives: a cycle", me, id)};
      }
    }
  }
  return {};
}

Status check_accesses(const Graph& graph) {
  const std::size_t count = graph.steps().size();
  std::vector<std::vector<bool>> later(count, std::vector<bool>(count, false));  // [a][b]: b starts after a has ended
  std::vector<StepId> stack;
  for (StepId a = 0; a < count; ++a) {
    stack.assign(1, a);
    while (!stack.empty()) {
      const StepId at = stack.back();
      stack.pop_back();
      for (StepId b : graph.successors(at)) {
        if (later[a][b]) continue;
        later[a][b] = true;
        stack.push_back(b);
      }
    }
  }
  const auto conflict = [](const Step& a, const Step& b) {
    return (a.writes() && b.writes() && overlap(a.to, b.to)) || (a.writes() && b.reads() && overlap(a.to, b.from)) ||
           (a.reads() && b.writes() && overlap(a.from, b.to));
  };
  for (StepId a = 0; a < count; ++a) {
    for (StepId b = a + 1; b < count; ++b) {
      const Step& first = graph.steps()[a];
      const Step& second = graph.steps()[b];
      if (!conflict(first, second) || later[a][b] || later[b][a]) continue;
      const bool under_send = first.sends() || second.sends();
      return {Code::InvalidArgument,
              fmt::format("position {} steps {} and {} touch the same bytes and are not ordered{}",
                          graph.shape().position, a, b, under_send ? ": bytes under a send would be rewritten" : "")};
    }
  }
  return {};
}

}  // namespace

Status verify(std::span<const Graph* const> graphs) {
  Status status;
  const auto messages = collect_messages(graphs, status);
  if (!status) return status;
  if (status = check_messages(graphs.front()->shape().collective, messages); !status) return status;
  if (status = check_cycles(graphs, messages); !status) return status;
  for (const Graph* graph : std::set<const Graph*>(graphs.begin(), graphs.end())) {
    if (status = check_accesses(*graph); !status) return status;
  }
  return {};
}

}  // namespace lacuna
