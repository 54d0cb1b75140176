#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/engine/active_part.hpp"
#include "runtime/engine/agreed_call.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/unsent.hpp"
#include "runtime/method/method.hpp"
#include "runtime/observe/kokkos_tools.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/report.hpp"
#include "runtime/values/run_kind.hpp"

namespace lacuna::kernels {
struct Event;
}

namespace lacuna::runtime {

class Client;
struct StreamHold;

/// One execution of a call or of one side of a message: what the two have in common. It is a CollectiveRun or, as its
/// kind says, a MessageRun.
struct Run {
  RunKind kind = RunKind::Collective;
  Client* communicator = nullptr;
  Call call;  ///< with the algorithm's name if KeptCalls::may_keep(); a message's holds its buffer and counts in bytes
  std::list<ActivePart> active;  ///< parts in flight, in the order in which they were made
  std::list<ActivePart> spare;
  Run* first = nullptr;                  ///< the first run of its batch; null: it begins alone
  Run* next = nullptr;                   ///< the run that follows it in its batch
  std::uint32_t operations = 0;          ///< of the transport and of steps that compute; they use the run's buffers
  std::uint64_t sent = 0, received = 0;  ///< payload, bytes
  kernels::Event* after = nullptr;  ///< of a call with data on a device: its buffers are ready once this has passed
  StreamHold* holds = nullptr;      ///< streams of the program that wait for its end
  std::exception_ptr flaw;          ///< why what begins first could not be made, until it begins
  Clock::time_point begun, deadline;
  std::uint64_t posted = 0;                                  ///< in ticks
  std::uint32_t traced = 0;                                  ///< its number in the trace
  kokkos_tools::Section section = kokkos_tools::no_section;  ///< from the post until its caller knows of the end
  Status status;
  bool past_caches = false;  ///< its data are larger than the caches, so that what is copied to them bypasses these
  bool finished = false;
  bool settled = false;    ///< see is_settled()
  bool abandoned = false;  ///< nobody holds a request for it any more
  bool expiry_reported = false, lateness_reported = false;

  /// Returns true if the run has ended and nothing used its buffers any more when it did. Then its status is final. Any
  /// thread may call this without the executor's lock, and may read the status if it returns true. If it returns false,
  /// the run may have ended nevertheless: the members that the lock guards say so.
  bool is_settled() { return std::atomic_ref(settled).load(std::memory_order_acquire); }
  void settle(bool now) { std::atomic_ref(settled).store(now, std::memory_order_release); }

  /// A part that was in flight has ended; its memory serves those to come.
  void lay_aside(std::list<ActivePart>::iterator part) { spare.splice(spare.begin(), active, part); }
};

/// A part of the plan and those that follow it: number n of a plan of m parts is followed by n + m, n + 2m ...
struct Chain {
  std::uint32_t length = 0;  ///< how many of its parts have begun
  bool ended = false;        ///< nothing follows the last one
  int rounds = 0;            ///< of its parts that have ended
};

/// Memory that the parts of a run share. Graphs know it by its name. What it holds at first is undefined.
struct RunMemory {
  std::string_view name;
  BlockPool* pool = nullptr;  ///< the pool from which `data` is taken
  std::byte* data = nullptr;  ///< null: none is taken
  std::size_t size = 0;

  void give_back() {
    if (data) pool->give_back(std::exchange(data, nullptr), size);
  }
};

/// What a step does on the board.
struct RowReduction {
  Extent from;  ///< the data of the own row
  Extent to;    ///< where the reduction of all rows goes
  SumScale scale;
};

/// What is known of a part of the plan before it begins, and of its chain.
struct ReadyPart {
  Order order;
  std::shared_ptr<const Graph> graph;                       ///< null: it is to be made when the part begins
  std::optional<std::list<ActivePart>::iterator> active{};  ///< the part of the chain that is in flight
  Landing* early = nullptr;                                 ///< the first message for those that have not begun
};

/// One execution of a call of a collective: the parts of its plan, and those that follow them. It owns the tables of
/// its call, which hold all offsets.
struct CollectiveRun : Run {
  std::uint32_t number = 0;         ///< of the call
  std::uint32_t digest = 0;         ///< of what was asked for, up to this call
  AgreedCall agreed;                ///< what was asked for, without the method
  std::uint64_t agreed_digest = 0;  ///< of `agreed`
  const Algorithm* algorithm = nullptr;
  const Hosts* hosts = nullptr;  ///< the host of each rank and, behind them, of each aggregator that takes part
  Rank aggregators = 0;          ///< so many aggregators of the job take part
  std::vector<std::size_t> tables;
  bool in_place = false;
  bool mappable = false;         ///< a long call without a method, whose output other processes of the host can map
  bool wants_copies = false;     ///< others can't map its buffers, and its program can copy what they read
  bool maps_copies = false;      ///< it does so, because they can map these copies
  bool prepared = false;         ///< may be started again after its end
  bool laid_out = false;         ///< its next start takes the plan and the part that its last one has left
  std::uint64_t first_turn = 0;  ///< on the board, of its first part, if its algorithm is on_board
  /// All that a call does that is laid out, has its data on the host, and has one step, on the board.
  std::optional<RowReduction> only_step;

  Plan plan;
  std::uint32_t parts = 1;       ///< of the plan; each may be followed by others, its chain
  std::vector<ReadyPart> ready;  ///< by part of the plan; rows beyond are left over from longer plans
  std::uint32_t in_flight = 1;   ///< so many parts run at a time
  std::uint32_t next_part = 0;   ///< of the plan
  std::uint32_t parts_done = 0;  ///< whose chains have ended
  std::vector<Chain> chains;     ///< by part of the plan, where others may follow; else none

  Unsent unsent;  ///< messages that do not come because a value says that they are empty

  // A call with a method has the following members too.
  const Method* method = nullptr;  ///< null: a dense call
  std::uint64_t state_run = 0;     ///< which run of its state it is, from 1; 0: it has none
  Sampler sampler;
  std::vector<RunMemory> memory;  ///< beside the data, for its parts
  Report report;

  /// Returns the memory of this name. It is taken from the pool if the run does not have it yet. All parts ask for the
  /// same length.
  std::byte* run_memory(std::string_view name, std::size_t bytes, BlockPool& pool) {
    auto found = std::find_if(memory.begin(), memory.end(), [&](const RunMemory& one) { return one.name == name; });
    if (found == memory.end()) found = memory.insert(found, {.name = name, .pool = &pool});
    if (!found->data || found->size < bytes) {
      std::byte* const larger = pool.take(bytes);
      found->give_back();
      *found = {.name = name, .pool = &pool, .data = larger, .size = bytes};
    }
    return found->data;
  }
  /// The row of the chain to which the part of this number belongs.
  ReadyPart& row_of(std::uint32_t part) { return ready[part < parts ? part : part % parts]; }
  /// The part of this number if it is in flight.
  ActivePart* find(std::uint32_t part) {
    const auto& active_part = row_of(part).active;
    return active_part && (*active_part)->number == part ? &**active_part : nullptr;
  }
  /// Has the part of this number begun?
  bool has_begun(std::uint32_t part) const {
    if (chains.empty()) return part < next_part;
    return part / parts < chains[part % parts].length;
  }
  /// May the part of this number still begin? Where others may follow, a part has not begun before its steps have.
  bool may_begin(std::uint32_t part) const {
    if (chains.empty()) return part >= next_part && part < parts;
    return !chains[part % parts].ended && part / parts >= chains[part % parts].length;
  }
};

/// One side of a message: a run of one part, whose graph is one step.
struct MessageRun : Run {
  /// The peer of a receive from any rank, until a message has met it.
  static constexpr Rank any_process = -1;

  Rank peer = 0;  ///< the other process of the job
  std::uint32_t tag = 0;
  std::uint32_t number = 0;  ///< of the message in its stream, once it is known
  Dtype element = Dtype::U8;
  std::uint64_t turn = 0;  ///< of a receive that waits: earlier ones with this tag have a smaller number
  std::size_t place = 0;   ///< index among the communicator's unfinished messages
};

/// Returns the run as a CollectiveRun. Its kind must be Collective.
inline CollectiveRun& as_collective(Run& run) { return static_cast<CollectiveRun&>(run); }
inline const CollectiveRun& as_collective(const Run& run) { return static_cast<const CollectiveRun&>(run); }
/// Returns the run as a MessageRun. Its kind must be Send or Receive.
inline MessageRun& as_message(Run& run) { return static_cast<MessageRun&>(run); }
inline const MessageRun& as_message(const Run& run) { return static_cast<const MessageRun&>(run); }

/// Returns the run of a part of a collective.
inline CollectiveRun& collective_of(const ActivePart& part) { return as_collective(*part.run); }

/// Returns the number that names a run in records and in its messages' headers.
inline std::uint32_t number_or_tag(const Run& run) {
  return run.kind == RunKind::Collective ? as_collective(run).number : as_message(run).tag;
}

}  // namespace lacuna::runtime
