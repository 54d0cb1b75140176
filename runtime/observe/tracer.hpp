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

/// What the calls, steps and waits of a rank did, and when. Memory is bounded: when it is full, later events are
/// counted and dropped. The engine writes it under its lock. Others read it when nothing moves any more.
class Tracer {
 public:
  enum class Kind : std::uint8_t {
    CallPosted,
    CallEnded,
    StepStarted,
    Sent,  ///< a message was handed to the transport; with part and index both its ranks know it
    StepEnded,
    Waited,
  };

  struct Event {
    std::uint64_t ticks = 0;
    std::uint64_t bytes = 0;         ///< of a step's data or of a call's; Waited: ticks of its begin
    std::uint64_t communicator = 0;  ///< CallPosted: its id
    std::uint32_t call = 0;          ///< its number in the trace
    std::uint32_t run = 0;           ///< CallPosted: the call's number on its communicator; a message's tag
    std::uint32_t step = 0;          ///< CallPosted: the collective; Waited: number of the thread, from 0
    std::uint32_t index = 0;         ///< of what it sends or receives, see Sent; into names(): of a kernel, CallPosted
    Rank peer = 0;                   ///< of a step that sends or receives, or of a message: its rank in the job
    std::uint32_t part = 0;
    Kind kind = Kind::CallPosted;
    StepKind step_kind = StepKind::Copy;
    RunKind call_kind = RunKind::Collective;  ///< CallPosted
    bool eager = false;                       ///< Sent: the bytes go with the message
    bool has_message = false;                 ///< StepEnded, of one that receives: there was one
    Code outcome = Code::Ok;                  ///< CallEnded
  };

  Tracer(std::size_t capacity, const TimeSource& time) : capacity_(capacity), time_(time) { events_.reserve(capacity); }

  /// Notes an event, which happens now.
  void add(Event event);
  /// The calling thread has waited since `begin`, in ticks.
  void waited(std::uint64_t begin);
  /// Numbers a call that is about to be posted.
  std::uint32_t number_call() { return calls_++; }
  /// Where this name stands in names(). It is put there if it is new.
  std::uint32_t index_of(std::string_view name);

  /// In the order of their ticks, but for the waits, which stand at their end.
  const std::vector<Event>& events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }
  /// Of algorithms and kernels; "message" for messages.
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
