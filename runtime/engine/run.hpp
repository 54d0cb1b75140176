#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/engine/arrived.hpp"
#include "runtime/method/method.hpp"
#include "runtime/observe/kokkos_tools.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/group.hpp"
#include "runtime/values/scale.hpp"
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
  std::uint32_t number = 0;        ///< of the call; a message's tag
  std::uint32_t digest = 0;        ///< of what was asked for; a message's number in its stream, once it is known
  Rank peer = 0;                   ///< of a message: the other rank of the job
  Dtype element = Dtype::U8;       ///< of a message
  std::size_t place = 0;           ///< of a message: among the communicator's unfinished ones
  const Method* method = nullptr;  ///< null: a dense call
  std::byte* residual = nullptr;   ///< the state's, if it has one
  std::uint64_t state_run = 0;     ///< which run of its state it is, from 1; 0: it has none
  bool in_place = false;
  std::vector<std::byte> sample;
  Report report;
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
Structure structure_of(const Run& run, std::uint32_t part);
/// Its data are gathered into memory of their own.
inline bool is_packed(const Run& run, std::uint32_t part) { return run.plan.parts[part].is_packed(); }
/// Takes what Plan::sample asks for of the input.
void take_sample(Run& run);
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
