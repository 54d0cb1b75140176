#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/engine/active_part.hpp"
#include "runtime/method/method.hpp"
#include "runtime/observe/kokkos_tools.hpp"
#include "runtime/values/clock.hpp"
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

/// What a run carries out: a call of a collective, or one side of a point-to-point message.
enum class RunKind : std::uint8_t { Collective, Send, Receive };

/// A part of the plan and those that follow it: number n of a plan of m parts is followed by n + m, n + 2m ...
struct Chain {
  std::uint32_t length = 0;  ///< of which so many have begun
  bool ended = false;        ///< nothing follows the last one
  int rounds = 0;            ///< of those that have ended
};

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
  std::uint64_t state_run = 0;     ///< which run of its state it is, from 1; 0: it has none
  bool in_place = false;
  std::vector<std::byte> kept;  ///< beside the data, for its parts
  Report report;
  Plan plan;
  std::uint32_t parts = 1;                          ///< of the plan; each may be followed by others, its chain
  std::uint32_t next_part = 0;                      ///< of the plan
  std::uint32_t parts_done = 0;                     ///< whose chains have ended
  std::vector<Chain> chains;                        ///< by part of the plan, where others may follow; else none
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

  /// Has the part of this number begun?
  bool has_begun(std::uint32_t part) const {
    if (chains.empty()) return part < next_part;
    return part % parts < next_part && part / parts < chains[part % parts].length;
  }
  /// May it still begin?
  bool may_begin(std::uint32_t part) const {
    if (chains.empty() || part < parts) return part >= next_part && part < parts;
    return !chains[part % parts].ended && part / parts >= chains[part % parts].length;
  }
  /// The part of this number if it is in flight.
  ActivePart* find(std::uint32_t part) {
    for (auto& candidate : active) {
      if (candidate->number == part) return candidate.get();
    }
    return nullptr;
  }
};

}  // namespace lacuna::runtime
