#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/engine/arrived.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/observe/kokkos_tools.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/group.hpp"
#include "runtime/values/scale.hpp"
#include "runtime/values/skip_report.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

class Communicator;
struct Run;

/// What has come of a message before its step could take it: eager bytes in memory of ours, descriptors as they are.
struct Landing {
  struct Piece {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  struct Waiting {
    std::size_t offset = 0;
    Descriptor descriptor;
  };

  Rank source = 0;  ///< process that sends it
  // Of its header.
  std::uint32_t run = 0;
  std::uint32_t part = 0;
  std::uint32_t index = 0;
  std::uint32_t digest = 0;
  Dtype dtype = Dtype::U8;
  bool eager = false;
  std::uint64_t bytes = 0;  ///< of the whole message
  std::byte* memory = nullptr;
  Arrived arrived;  ///< of a collective's message
  std::vector<Piece> pieces;
  std::vector<Waiting> descriptors;
};

/// How far a step of an active part has come.
struct StepState {
  std::uint32_t operations = 0;  ///< of the transport, in flight
  bool started = false;
  bool ended = false;
  bool all_started = false;    ///< a send: nothing is left to hand to the transport
  bool told = false;           ///< a receive of at most `bytes`, until its first message tells
  std::uint64_t bytes = 0;     ///< of a receive, once started
  std::uint64_t consumed = 0;  ///< of these, what lies where it belongs
  Arrived arrived;             ///< of these, in a collective: what lies there, or is being fetched
  Landing* landing = nullptr;
};

/// A stretch of a call's data, in elements.
struct Stretch {
  std::size_t offset = 0;
  std::size_t count = 0;
};

/// What one part of a run takes and how, where the parts are not all alike.
struct PartPlan {
  Stretch data{};  ///< of a packed part, only its length counts
  int skip_steps = 0;
  int gather_steps = 0;
  bool feedback = false;
  SkipOutcome outcome = SkipOutcome::Dense;    ///< of one that skips nothing
  bool audits = false;                         ///< it reduces the run's sample densely
  std::uint32_t first_packed = 0, packed = 0;  ///< the stretches that travel together in it, of Plan::packed
};

/// The parts of a run; none: equal shares, as many as Run::parts says.
struct Plan {
  std::vector<PartPlan> parts;
  std::vector<Stretch> packed;
};

/// One graph on one segment of a run's data, being executed.
struct ActivePart {
  Run* run = nullptr;
  std::uint32_t number = 0;
  std::shared_ptr<const Graph> graph;
  const Group* group = nullptr;
  Order order;
  Rank position = 0;
  std::size_t offset = 0;  ///< of the segment, in elements; within each rank's block where there are equal blocks
  std::size_t count = 0;   ///< elements of the segment; where there are blocks, of the longest one's share at most
  std::vector<std::uint32_t> waits;  ///< by step: steps that must end before it may start
  std::vector<StepState> states;     ///< by step
  std::uint32_t remaining = 0;       ///< steps that have not ended
  std::byte* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  std::byte* packed = nullptr;  ///< the data, where it has been gathered from several places

  /// The process so many positions after the own one, 0 .. size-1; and the inverse, for a member.
  Rank process_at(Rank distance) const {
    const Rank there = position + distance;
    return group->process_of(order.rank_of(there < order.size() ? there : there - order.size()));
  }
  Rank distance_of(Rank process) const {
    const Rank distance = order.position_of(group->rank_of(process)) - position;
    return distance >= 0 ? distance : distance + order.size();
  }
};

/// What a run carries out: a call of a collective, or one side of a point-to-point message.
enum class RunKind : std::uint8_t { Collective, Send, Receive };

/// One execution of a call, or a message: a run of one part whose graph is one step. A message's call holds its buffer
/// and counts in bytes.
struct Run {
  RunKind kind = RunKind::Collective;
  Communicator* communicator = nullptr;
  const Algorithm* algorithm = nullptr;
  Call call;  ///< without the algorithm's name; its tables are the run's own, with all offsets
  std::vector<std::size_t> tables;
  Sampler sampler;
  std::uint32_t number = 0;   ///< of the call; a message's tag
  std::uint32_t digest = 0;   ///< of what was asked for; a message's number in its stream, once it is known
  Rank peer = 0;              ///< of a message: the other rank of the job
  Dtype element = Dtype::U8;  ///< of a message
  std::size_t place = 0;      ///< of a message: among the communicator's unfinished ones
  std::vector<SkipSegment> segments;
  std::vector<SkipStage> schedule;
  std::byte* residual = nullptr;
  int skip_steps = 0, gather_steps = 0;  ///< of all parts, unless the plan says otherwise
  bool in_place = false;
  bool feedback = false;
  bool audited = false;         ///< its last part reduces the sample
  std::uint64_t state_run = 0;  ///< of an audited one: which run of its state it is, from 1
  std::vector<std::byte> sample;
  bool reported = false;  ///< what its parts skip is noted as they begin
  SkipReport report;
  Plan plan;
  std::uint32_t parts = 1;
  std::uint32_t next_part = 0;
  std::uint32_t parts_done = 0;
  std::vector<std::unique_ptr<ActivePart>> active;  ///< parts in flight
  std::vector<std::unique_ptr<ActivePart>> spare;
  Clock::time_point deadline;
  std::uint64_t posted = 0;                                  ///< in ticks
  std::uint32_t traced = 0;                                  ///< its number in the trace
  kokkos_tools::Section section = kokkos_tools::no_section;  ///< from the post until its caller knows of the end
  Status status;
  bool finished = false;
  bool abandoned = false;  ///< nobody holds a request for it any more
  bool prepared = false;   ///< may be started again after its end
  bool expiry_reported = false;
  std::uint32_t operations = 0;  ///< of the transport, in flight: while there are any, the buffers are in use

  bool skips() const {
    return std::any_of(plan.parts.begin(), plan.parts.end(),
                       [](const PartPlan& part) { return part.skip_steps > 0 || part.gather_steps > 0; }) ||
           (plan.parts.empty() && (skip_steps > 0 || gather_steps > 0));
  }
  /// The part of this number if it is in flight.
  ActivePart* find(std::uint32_t part) {
    for (auto& candidate : active) {
      if (candidate->number == part) return candidate.get();
    }
    return nullptr;
  }
};

/// Where a region of a part lies in memory.
struct Extent {
  std::byte* data = nullptr;
  std::size_t count = 0;  ///< elements
};

Extent resolve(const ActivePart& part, const Region& region);

/// Sets the segment that a part of its number takes.
void cut(ActivePart& part);

/// What the result of this step is scaled by.
Scale scale_of(const ActivePart& part, const Step& step);

/// What the graph of a part depends on besides its algorithm and the place of its rank.
struct PartShape {
  bool in_place = false;
  int skip_steps = 0;
  int gather_steps = 0;
  bool keep = false;
  bool feedback = false;

  bool skips() const { return skip_steps > 0 || gather_steps > 0; }
};
PartShape shape_of(const Run& run, std::uint32_t part);
inline bool is_packed(const Run& run, std::uint32_t part) {
  return !run.plan.parts.empty() && (run.plan.parts[part].packed > 0 || run.plan.parts[part].audits);
}
inline bool is_audit(const Run& run, std::uint32_t part) { return run.audited && part + 1 == run.parts; }
/// Between the caller's buffers, or the run's sample, and the memory of a packed part.
void pack(ActivePart& part);
void unpack(const ActivePart& part);

/// Where the sender's word about the length of what lands in this region counts, up to the region's own length: the
/// caller's place for it. Else null.
std::size_t* told_length(const ActivePart& part, const Region& region);

/// Is a message of no bytes sent all the same? Signals are, the first message of each pair, for its digest, and those
/// whose length is told by the sender.
inline bool sent_when_empty(const ActivePart& part, const Step& step, const Region& region) {
  return region.is_signal() || (part.number == 0 && step.index == 0) ||
         traits_of(part.run->call.collective).lengths == Lengths::Told;
}

}  // namespace lacuna::runtime
