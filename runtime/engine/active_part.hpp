#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/engine/arrived.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/group.hpp"
#include "runtime/values/scale.hpp"

namespace lacuna::runtime {

struct CollectiveRun;
class MemoryPools;
struct Landing;
struct Run;

/// How far a step of an active part has come.
struct StepState {
  std::uint32_t operations = 0;  ///< of the transport, in flight
  bool started = false;
  bool ended = false;
  bool all_started = false;    ///< a send: nothing is left to hand to the transport
  bool told = false;           ///< a receive whose length is unknown until its message begins to arrive
  std::uint64_t given = 0;     ///< a send: bytes that the transport has been given
  std::uint64_t staged = 0;    ///< a send from a device: bytes that are on their way to a stage, or beyond
  std::uint32_t stages = 0;    ///< of this send, in use
  std::uint64_t bytes = 0;     ///< of a receive, once started: its length
  std::uint64_t consumed = 0;  ///< of a receive: bytes that lie where they belong
  Arrived arrived;             ///< of a collective's receive: bytes that have come, or are being fetched
  Landing* landing = nullptr;
};

/// A buffer of an active part.
struct PartBuffer {
  std::byte* data = nullptr;
  std::size_t length = 0;  ///< elements that its regions are cut from
  std::size_t room = 0;    ///< elements that it holds
  Dtype dtype = Dtype::U8;
  Reduction reduction = Reduction::Sum;
  MemoryKind memory = MemoryKind::Host;
  bool mappable = false;  ///< other ranks of the host can map it
  std::size_t taken = 0;  ///< bytes of the pool of its memory that the part has taken for it
};

/// One graph on one stretch of a run's data, being executed.
struct ActivePart {
  Run* run = nullptr;
  std::uint32_t number = 0;
  bool greets = false;             ///< its first message of each pair is sent even if empty, as it shows the digest
  std::uint32_t digest = 0;        ///< of its messages: made of the run's digest and of the parts that it follows
  const PartPlan* plan = nullptr;  ///< a part of its run's plan, or `followed`
  PartPlan followed;               ///< its plan if it follows another part of its chain
  std::shared_ptr<const Graph> graph;
  const Group* group = nullptr;
  Order order;
  Rank position = 0;
  std::size_t offset = 0;  ///< of the stretch, in elements; within each rank's block where there are equal blocks
  std::size_t count = 0;   ///< elements of the stretch; where there are blocks, of the longest one's share at most
  std::vector<std::uint32_t> waits;   ///< by step: steps that must end before it may start
  std::vector<StepState> states;      ///< by step
  std::uint32_t remaining = 0;        ///< steps that have not ended
  std::vector<PartBuffer> buffers;    ///< by Buffer
  std::vector<std::uint64_t> values;  ///< by Value

  PartBuffer& buffer(const Region& region) { return buffers[static_cast<std::size_t>(region.buffer)]; }
  const PartBuffer& buffer(const Region& region) const { return buffers[static_cast<std::size_t>(region.buffer)]; }
  std::uint64_t value(Value value) const { return values[static_cast<std::size_t>(value)]; }

  /// Returns the process that stands `distance` positions after this one, 0 .. size-1. distance_of() is the inverse. It
  /// is -1 for an aggregator that does not take part; other processes must be members.
  Rank process_at(Rank distance) const {
    const Rank there = position + distance;
    return group->process_of(order.rank_of(there < order.size() ? there : there - order.size()));
  }
  Rank distance_of(Rank process) const {
    const Rank rank = group->rank_of(process);
    if (rank >= order.size()) return -1;
    const Rank distance = order.position_of(rank) - position;
    return distance >= 0 ? distance : distance + order.size();
  }
};

/// Returns the part as kernels and capacities see it.
PartView view_of(const ActivePart& part);

/// Sets the stretch of data that a part takes.
void cut(ActivePart& part);

/// Finds out where the part's buffers lie and how long they are. Takes memory for scratch, and for memory of the run
/// and arrays of the state that do not exist yet. Landed memory is taken when a message lands.
void lay_out(ActivePart& part, MemoryPools& memory);
/// Gives back what the part has taken for this buffer, or for all of its buffers.
void give_back(PartBuffer& buffer, MemoryPools& memory);
void give_back_memory(ActivePart& part, MemoryPools& memory);

/// Does the state lack an array that the graph needs?
bool lacks_array(const Graph& graph, const MethodState& state);
/// Makes the arrays of the state that do not exist yet. The part's run, plan, graph, position and stretch must be set.
void make_arrays(const ActivePart& part, const MemoryPools& memory);

/// Returns where a region lies. Throws std::length_error if a value asks for more than the buffer holds.
Extent resolve(const ActivePart& part, const Region& region);

/// Returns how this step scales the terms of a mean, and its final value.
SumScale scale_of(const ActivePart& part, const Step& step);

/// Returns the digest of a part's messages if the part follows one with this digest.
std::uint32_t digest_after(std::uint32_t digest, const PartPlan& next);

/// Does what this step receives stay where it lands?
inline bool lands(const ActivePart& part, const Step& step) {
  return step.length != Value::None && part.graph->buffer(step.to).role == Role::Landed;
}

/// Does the sender say how long this receive is, up to what its region holds?
bool is_open(const ActivePart& part, const Step& step);
/// Notes the length that the sender has said, in elements.
void note_length(ActivePart& part, const Step& step, std::size_t count);

/// Is a message without bytes sent all the same? Three kinds are: signals, the first message of each pair, which shows
/// the digest, and messages that tell their length.
inline bool sent_when_empty(const ActivePart& part, const Step& step, const Region& region) {
  return region.is_signal() || step.carries || (part.greets && step.index == 0);
}

}  // namespace lacuna::runtime
