#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/run_kind.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Records what the calls, steps and waits of a rank did, and when. Memory is bounded: once it is full, later events
/// are dropped and only counted. Thread rule: the engine writes it under its lock, and others read it once nothing
/// moves any more.
class Tracer {
 public:
  enum class Kind : std::uint8_t {
    CallPosted,
    CallEnded,
    StepStarted,
    Sent,  ///< a message was handed to the transport; part and index identify it on both of its ranks
    StepEnded,
    Waited,
  };

  struct Event {
    std::uint64_t ticks = 0;
    std::uint64_t bytes = 0;  ///< bytes of the step's data or of the call's; Waited: the ticks at which the wait began
    std::uint64_t communicator = 0;  ///< CallPosted: the id of its communicator
    std::uint32_t call = 0;          ///< the number of the call in the trace
    std::uint32_t run = 0;    ///< CallPosted: the number of the call on its communicator, or the tag of the message
    std::uint32_t step = 0;   ///< the step; CallPosted: the collective; Waited: the number of the thread, from 0
    std::uint32_t index = 0;  ///< which message it sends or receives; of a kernel, and CallPosted: where names() has it
    Rank peer = 0;            ///< the rank in the job with which a step or a message communicates
    std::uint32_t part = 0;
    Kind kind = Kind::CallPosted;
    StepKind step_kind = StepKind::Copy;
    RunKind call_kind = RunKind::Collective;  ///< CallPosted: a collective, or one side of a message
    bool eager = false;                       ///< Sent: the message is eager
    bool has_message = false;                 ///< StepEnded, if the step receives: a message has come
    Code outcome = Code::Ok;                  ///< CallEnded: how the call ended
  };

  Tracer(std::size_t capacity, const TimeSource& time) : capacity_(capacity), time_(time) { events_.reserve(capacity); }

  /// Records an event, which happens now.
  void add(Event event);
  /// Records that the calling thread has waited since `begin`, in ticks.
  void waited(std::uint64_t begin);
  /// Numbers a call that is about to be posted.
  std::uint32_t number_call() { return calls_++; }
  /// The index of this name in names(). A new name is added.
  std::uint32_t index_of(std::string_view name);

  /// The events in the order of their ticks. A wait stands where it ended.
  const std::vector<Event>& events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }
  /// The names of algorithms and kernels. Messages have the name "message".
  const std::vector<std::string>& names() const { return names_; }

 private:
  const std::size_t capacity_;
  const TimeSource time_;
  std::vector<Event> events_;
  std::uint64_t dropped_ = 0;
  std::uint32_t calls_ = 0;
  std::vector<std::string> names_;
  std::vector<std::thread::id> threads_;
};

}  // namespace lacuna::runtime
