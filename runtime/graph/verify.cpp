#include "runtime/graph/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/graph/walk.hpp"

namespace lacuna {
namespace {

std::string interval(const Region& region) {
  if (region.is_signal()) return "a signal";
  return fmt::format("[{}, {}) of {}", region.begin, region.end, region.of);
}

Status check_names(const Walk& walk, Rank size) {
  if (!walk.twice()) return {};
  const auto& [step, me, id, number] = *walk.twice();
  return {Code::InvalidArgument, fmt::format("position {} step {}: message {} with position {} is named twice", me, id,
                                             step->index, (me + step->peer) % size)};
}

/// Where both buffers hold blocks, the sender's block for the receiver becomes the receiver's block of the sender.
/// Where only two ranks know how long a block is, it goes straight from the one to the other; position 0 is the root.
bool fit(Collective collective, const Walk::Message& message, const Region& from, const Region& to) {
  const CollectiveTraits& traits = traits_of(collective);
  const auto is_block = [](const Region& region, Rank rank) {
    return region.begin == static_cast<std::uint32_t>(rank) && region.end == region.begin + 1;
  };
  if (traits.input == Holds::Blocks && traits.output == Holds::Blocks) {
    return is_block(from, message.receiver) && is_block(to, message.sender);
  }
  if (!same_interval(from, to)) return false;
  if (traits.lengths != Lengths::Told) return true;
  return traits.input == Holds::Data ? message.receiver == 0 && is_block(from, message.sender)
                                     : message.sender == 0 && is_block(from, message.receiver);
}

Status check_message(std::span<const Graph* const> graphs, const Walk::Message& message) {
  const auto& [sender, receiver, index, send, receive] = message;
  if (!receive) {
    return {Code::InvalidArgument, fmt::format("position {} step {}: send {} to position {} meets no receive", sender,
                                               *send, index, receiver)};
  }
  if (!send) {
    return {Code::InvalidArgument, fmt::format("position {} step {}: receive {} from position {} meets no send",
                                               receiver, *receive, index, sender)};
  }
  const Graph& source = *graphs[static_cast<std::size_t>(sender)];
  const Graph& target = *graphs[static_cast<std::size_t>(receiver)];
  const Region from = placed(source, source.steps()[*send].from, sender);
  const Region to = placed(target, target.steps()[*receive].to, receiver);
  const Collective collective = graphs.front()->shape().collective;
  if (fit(collective, message, from, to)) return {};
  const char* reason = traits_of(collective).lengths == Lengths::Told && same_interval(from, to)
                           ? ": only two ranks know this block's length, so it must go straight from one to the other"
                           : "";
  return {Code::InvalidArgument,
          fmt::format("message {} from position {} step {} to position {} step {}: sends {}, receives {}{}", index,
                      sender, *send, receiver, *receive, interval(from), interval(to), reason)};
}

Status check_cycles(const Walk& walk) {
  if (!walk.stuck()) return {};
  return {Code::InvalidArgument,
          fmt::format("position {} step {} can never end if sends wait for their receives: a cycle",
                      walk.stuck()->position, walk.stuck()->id)};
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
  const Walk walk(graphs);
  if (Status status = check_names(walk, static_cast<Rank>(graphs.size())); !status) return status;
  for (const Walk::Message& message : walk.messages()) {
    if (Status status = check_message(graphs, message); !status) return status;
  }
  if (Status status = check_cycles(walk); !status) return status;
  for (auto graph = graphs.begin(); graph != graphs.end(); ++graph) {
    if (std::find(graphs.begin(), graph, *graph) != graph) continue;
    if (Status status = check_accesses(**graph); !status) return status;
  }
  return {};
}

}  // namespace lacuna
