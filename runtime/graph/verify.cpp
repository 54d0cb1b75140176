#include "runtime/graph/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/graph/step_sets.hpp"
#include "runtime/graph/walk.hpp"

namespace lacuna {
namespace {

std::string interval(const Region& region) {
  if (region.is_signal()) return "a signal";
  if (region.is_counted()) return fmt::format("as much as value {} says", region.end);
  return fmt::format("[{}, {}) of {}", region.begin, region.end, region.of);
}

Status check_names(const Walk& walk, Rank size) {
  if (!walk.twice()) return {};
  const auto& [step, me, id, number] = *walk.twice();
  return {Code::InvalidArgument, fmt::format("position {} step {}: message {} with position {} is named twice", me, id,
                                             step->index, (me + step->peer) % size)};
}

/// Do the two regions of a message fit? If both buffers hold blocks, the sender's block for the receiver must become
/// the receiver's block of the sender. If only two ranks know how long a block is, it must go straight from one to the
/// other. The root has position 0.
bool fit(Collective collective, const Walk::Message& message, const Region& from, const Region& to) {
  const CollectiveTraits& traits = traits_of(collective);
  const auto is_block = [](const Region& region, Rank rank) {
    return region.begin == static_cast<std::uint32_t>(rank) && region.end == region.begin + 1;
  };
  if (traits.input == Holds::Blocks && traits.output == Holds::Blocks) {
    return is_block(from, message.receiver) && is_block(to, message.sender);
  }
  if (!same_elements(from, to)) return false;
  if (traits.lengths != Lengths::Told) return true;
  return traits.input == Holds::Data ? message.receiver == 0 && is_block(from, message.sender)
                                     : message.sender == 0 && is_block(from, message.receiver);
}

/// Identifies a length that both ends of a message know, so that the message does not tell it.
struct LengthName {
  Origin origin = Origin::Agreed;
  Rank from = 0, to = 0;  ///< of a paired value: its positions
  std::uint32_t name = 0;

  friend bool operator==(const LengthName&, const LengthName&) = default;
};

/// One end of a message: a step of a position, and its region there.
struct MessageEnd {
  Rank position;
  const Graph& graph;
  const Step& step;
  Region region;

  MessageEnd(std::span<const Graph* const> graphs, Rank at, StepId id)
      : position(at),
        graph(*graphs[static_cast<std::size_t>(position)]),
        step(graph.steps()[id]),
        region(placed(graph, step.sends() ? step.from : step.to, position)) {}

  /// Nothing if the length is not known to both ends before the message comes.
  std::optional<LengthName> length_name() const {
    if (!region.is_counted() || region.end >= graph.tables().values.size()) return std::nullopt;
    const ValueInfo& info = graph.tables().values[region.end];
    if (!is_known_to_both(info.origin)) return std::nullopt;
    if (info.origin == Origin::Agreed) return LengthName{.name = info.name};
    const Rank other = (position + info.peer) % graph.shape().size;
    return LengthName{info.origin, info.outgoing ? position : other, info.outgoing ? other : position, info.name};
  }
  /// The kernel that defines the length.
  const Kernel* definer() const {
    for (const KernelStep& row : graph.tables().kernels) {
      for (Value value : row.defines) {
        if (value == region.length()) return row.kernel;
      }
    }
    return nullptr;
  }
  auto capacity() const { return region.is_signal() ? nullptr : graph.buffer(region).capacity; }
  std::optional<Dtype> element() const {
    return region.is_signal() ? std::optional<Dtype>() : graph.buffer(region).element;
  }
};

/// Says why two ends do not agree about the length of a message, or returns null.
const char* length_flaw(const MessageEnd& from, const MessageEnd& to) {
  if (from.step.carries != to.step.carries) {
    return from.step.carries ? ": only the sender knows this length, and the receiver does not take it from the message"
                             : ": the receiver takes the length from a message that does not tell it";
  }
  if (from.element() != to.element()) return ": the two buffers have elements of different types";
  if (from.step.carries) return nullptr;
  if (!from.region.is_counted() && !to.region.is_counted()) {
    return from.capacity() == to.capacity() ? nullptr : ": the two buffers differ in what they hold";
  }
  const auto sent = from.length_name(), received = to.length_name();
  const bool paired = (sent && sent->origin == Origin::Paired) || (received && received->origin == Origin::Paired);
  if (sent && sent == received && (paired || from.definer() == to.definer())) return nullptr;
  return paired ? ": the two ends do not name the same value of this pair of positions"
                : ": the two ranks define this length differently";
}

Status check_ends(const Walk::Message& message) {
  const auto& [sender, receiver, index, send, receive] = message;
  if (!receive) {
    return {Code::InvalidArgument, fmt::format("position {} step {}: send {} to position {} meets no receive", sender,
                                               *send, index, receiver)};
  }
  if (send) return {};
  return {Code::InvalidArgument, fmt::format("position {} step {}: receive {} from position {} meets no send", receiver,
                                             *receive, index, sender)};
}

Status check_message(std::span<const Graph* const> graphs, const Walk::Message& message) {
  if (Status both = check_ends(message); !both) return both;
  const auto& [sender, receiver, index, send, receive] = message;
  const MessageEnd from(graphs, sender, *send), to(graphs, receiver, *receive);
  const Collective collective = graphs.front()->shape().collective;
  const char* reason = length_flaw(from, to);
  const bool is_counted = from.region.is_counted() || to.region.is_counted();
  if (!reason && (is_counted || fit(collective, message, from.region, to.region))) return {};
  if (!reason) {
    reason = traits_of(collective).lengths == Lengths::Told && same_elements(from.region, to.region)
                 ? ": only two ranks know this block's length, so it must go straight from one to the other"
                 : "";
  }
  return {Code::InvalidArgument,
          fmt::format("message {} from position {} step {} to position {} step {}: sends {}, receives {}{}", index,
                      sender, *send, receiver, *receive, interval(from.region), interval(to.region), reason)};
}

/// Checks that a sender and the reduction that its message meets agree whether it brings a term.
Status check_term(std::span<const Graph* const> graphs, const Walk::Message& message) {
  const MessageEnd from(graphs, message.sender, *message.send), to(graphs, message.receiver, *message.receive);
  const bool brings = to.step.brings_term;
  const bool averages = traits_of(graphs.front()->shape().collective).averages;
  if (!averages || to.step.kind != StepKind::ReceiveReduce || from.step.from_is_term == brings) return {};
  return {Code::InvalidArgument,
          fmt::format("message {} from position {} step {} to position {} step {}: it brings {}, and is reduced as {}",
                      message.index, message.sender, *message.send, message.receiver, *message.receive,
                      brings ? "a sum" : "a term", brings ? "a term" : "a sum")};
}

/// Checks that either no position or each of them has a step that meets those of the others, on the same elements.
Status check_meeting(std::span<const Graph* const> graphs) {
  const auto step_of = [](const Graph& graph) -> const Step* {
    const auto found = std::ranges::find_if(graph.steps(), [](const Step& step) { return step.meets(); });
    return found == graph.steps().end() ? nullptr : &*found;
  };
  const Step* const first = step_of(*graphs[0]);
  for (std::size_t position = 1; position < graphs.size(); ++position) {
    const Step* const other = step_of(*graphs[position]);
    if (!first && !other) continue;
    if (!first || !other) {
      return {Code::InvalidArgument, fmt::format("position {} meets the others on the board, and position {} does not",
                                                 first ? 0 : position, first ? position : 0)};
    }
    if (same_elements(first->from, other->from) && same_elements(first->to, other->to)) continue;
    return {Code::InvalidArgument, fmt::format("positions 0 and {} reduce different elements on the board: {} and {}",
                                               position, interval(first->from), interval(other->from))};
  }
  return {};
}

Status check_cycles(const Walk& walk) {
  if (!walk.stuck()) return {};
  return {Code::InvalidArgument,
          fmt::format("position {} step {} can never end if sends wait for their receives: a cycle",
                      walk.stuck()->position, walk.stuck()->id)};
}

/// The steps in an order that their edges allow.
std::vector<StepId> in_order(const Graph& graph) {
  std::vector<std::uint32_t> waits(graph.predecessor_counts().begin(), graph.predecessor_counts().end());
  std::vector<StepId> order(graph.roots().begin(), graph.roots().end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (StepId next : graph.successors(order[i])) {
      if (--waits[next] == 0) order.push_back(next);
    }
  }
  return order;
}

/// For each step, the steps that start after it has ended.
StepSets later_steps(const Graph& graph) {
  StepSets later(graph.steps().size());
  const std::vector<StepId> order = in_order(graph);
  for (auto a = order.rbegin(); a != order.rend(); ++a) {
    for (StepId b : graph.successors(*a)) {
      later.add(*a, b);
      later.add_all(*a, b);
    }
  }
  return later;
}

struct Access {
  StepId step;
  Region region;
  bool write;
};

/// The accesses to each buffer, in the order of the steps.
std::vector<std::vector<Access>> accesses_of(const Graph& graph) {
  std::vector<std::vector<Access>> by_buffer(graph.tables().buffers.size());
  for (StepId id = 0; id < graph.steps().size(); ++id) {
    graph.each_access(graph.steps()[id], [&](const Region& region, bool write) {
      const Region there = in_memory(graph.shape(), region);
      const auto buffer = static_cast<std::size_t>(there.buffer);
      if (buffer >= by_buffer.size()) by_buffer.resize(buffer + 1);  // another check reports a missing row
      by_buffer[buffer].push_back({id, there, write});
    });
  }
  return by_buffer;
}

Status check_accesses(const Graph& graph, const StepSets& later) {
  using Pair = std::pair<StepId, StepId>;
  Pair first(static_cast<StepId>(later.size()), 0);
  for (const auto& accesses : accesses_of(graph)) {
    for (auto b = accesses.begin(); b != accesses.end(); ++b) {
      for (auto a = accesses.begin(); a != b; ++a) {
        if (!(a->write || b->write) || a->step == b->step) continue;
        if (later.has(a->step, b->step) || later.has(b->step, a->step)) continue;
        if (overlap(a->region, b->region)) first = std::min(first, Pair(a->step, b->step));
      }
    }
  }
  if (first.first == later.size()) return {};
  const Step &one = graph.steps()[first.first], &other = graph.steps()[first.second];
  const bool under_send = one.sends() || other.sends();
  const bool released = one.kind == StepKind::Release || other.kind == StepKind::Release;
  return {Code::InvalidArgument, fmt::format("position {} steps {} and {} touch the same bytes and are not ordered{}",
                                             graph.shape().position, first.first, first.second,
                                             released     ? ": what has landed would be released too early"
                                             : under_send ? ": bytes under a send would be rewritten"
                                                          : "")};
}

/// Checks that the source of a copy or a reduction has the length and the element type of its target.
Status check_lengths(const Graph& graph) {
  for (StepId id = 0; id < graph.steps().size(); ++id) {
    const Step& step = graph.steps()[id];
    if (!step.reads() || !step.writes()) continue;
    const BufferInfo &from = graph.buffer(step.from), &to = graph.buffer(step.to);
    const bool as_long = step.from.is_counted() || step.to.is_counted()
                             ? step.from.length() == step.to.length()
                             : same_elements(step.from, step.to) && from.capacity == to.capacity;
    if (as_long && from.element == to.element) continue;
    return {Code::InvalidArgument,
            fmt::format("position {} step {}: reads {}, writes {}: they differ in length or element type",
                        graph.shape().position, id, interval(step.from), interval(step.to))};
  }
  return {};
}

/// The step that defines each value.
std::vector<std::optional<StepId>> definitions_of(const Graph& graph) {
  std::vector<std::optional<StepId>> all(graph.tables().values.size());
  for (StepId id = 0; id < graph.steps().size(); ++id) {
    const Step& step = graph.steps()[id];
    if (step.length != Value::None) all[static_cast<std::size_t>(step.length)] = id;
    if (step.kind != StepKind::Kernel) continue;
    for (Value value : graph.kernel(step).defines) all[static_cast<std::size_t>(value)] = id;
  }
  return all;
}

/// If the region counts as disjoint from others, has the program declared it? A running part compares only such
/// regions.
bool is_declared(const Graph& graph, const Region& region) {
  const auto& all = graph.tables().disjoint;
  if (region.apart == 0) return true;
  if (region.apart > all.size()) return false;
  const auto& together = all[region.apart - 1u];
  return std::find(together.begin(), together.end(), region) != together.end();
}

Status check_values(const Graph& graph, const StepSets& later) {
  const auto definitions = definitions_of(graph);
  Status status;
  for (StepId id = 0; id < graph.steps().size(); ++id) {
    const Step& step = graph.steps()[id];
    const auto check = [&](Value value) {
      if (value == Value::None || value == step.length || !status) return;
      const auto at = static_cast<std::size_t>(value);
      const bool defined = at < definitions.size() && definitions[at] && later.has(*definitions[at], id);
      if (defined) return;
      status = {Code::InvalidArgument, fmt::format("position {} step {}: value {} is read before it is defined",
                                                   graph.shape().position, id, at)};
    };
    graph.each_access(step, [&](const Region& region, bool) {
      check(region.offset());
      check(region.length());
      if (status && !is_declared(graph, region)) {
        status = {Code::InvalidArgument,
                  fmt::format("position {} step {}: a region is used as disjoint from others, but is not declared so",
                              graph.shape().position, id)};
      }
    });
    if (step.kind != StepKind::Kernel) continue;
    for (Value value : graph.kernel(step).uses) check(value);
  }
  for (Value value : graph.tables().decides) {
    const auto at = static_cast<std::size_t>(value);
    const bool agreed = at < definitions.size() && graph.tables().values[at].origin == Origin::Agreed;
    if (status && !(agreed && definitions[at])) {
      status = {Code::InvalidArgument, fmt::format("position {}: value {}, from which the part that follows is chosen, "
                                                   "is not agreed: ranks could choose differently",
                                                   graph.shape().position, at)};
    }
  }
  return status;
}

/// Checks that all positions choose the part that follows from the same values.
Status check_decisions(std::span<const Graph* const> graphs) {
  const auto names_of = [](const Graph& graph) {
    std::vector<std::uint32_t> names;
    for (Value value : graph.tables().decides) {
      names.push_back(graph.tables().values[static_cast<std::size_t>(value)].name);
    }
    return names;
  };
  for (std::size_t position = 1; position < graphs.size(); ++position) {
    if (names_of(*graphs[position]) == names_of(*graphs[0])) continue;
    return {Code::InvalidArgument,
            fmt::format("positions 0 and {} choose the part that follows from different values", position)};
  }
  return {};
}

}  // namespace

Status verify(std::span<const Graph* const> graphs) {
  const Walk walk(graphs);
  if (Status status = check_names(walk, static_cast<Rank>(graphs.size())); !status) return status;
  for (const Walk::Message& message : walk.messages()) {
    if (Status status = check_message(graphs, message); !status) return status;
    if (Status status = check_term(graphs, message); !status) return status;
  }
  if (Status status = check_meeting(graphs); !status) return status;
  if (Status status = check_cycles(walk); !status) return status;
  for (auto graph = graphs.begin(); graph != graphs.end(); ++graph) {
    if (std::find(graphs.begin(), graph, *graph) != graph) continue;
    const StepSets later = later_steps(**graph);
    if (Status status = check_accesses(**graph, later); !status) return status;
    if (Status status = check_values(**graph, later); !status) return status;
    if (Status status = check_lengths(**graph); !status) return status;
  }
  return check_decisions(graphs);
}

}  // namespace lacuna
