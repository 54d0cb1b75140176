#include "runtime/observe/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/files/output_folder.hpp"
#include "runtime/observe/json_text.hpp"
#include "runtime/observe/trace_slices.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/version.hpp"

namespace lacuna {
namespace {

using runtime::RunKind;
using runtime::Tracer;
using Nanoseconds = std::int64_t;  // on rank 0's clock; they are integers, so that differences are exact

constexpr int calls_track = 1;
constexpr int waits_track = 10;       // the first of these tracks, one for each thread
constexpr int steps_track = 1 << 20;  // each kind of step has so many tracks
constexpr Nanoseconds shortest = 1;   // the least length of a slice: an arrow can't end at an empty one

double microseconds(Nanoseconds time) { return static_cast<double>(time) / 1000; }

int track_of(const StepSlice& slice) {
  return steps_track * (1 + static_cast<int>(slice.step.step_kind)) + static_cast<int>(slice.lane);
}

/// A number for a message. Both of its ends compute the same one.
std::uint64_t message_id(const Tracer::Event& call, const Tracer::Event& step, Rank from, Rank to) {
  return Digest()
      .add(call.communicator)
      .add(std::uint64_t{call.run} << 32 | step.part)
      .add(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to))
      .add(std::uint64_t{call.call_kind != RunKind::Collective} << 32 | step.index)
      .value();
}

/// Writes one trace, with an event on each line.
class TraceWriter {
 public:
  TraceWriter(std::FILE* file, const Tracer& tracer, const TraceOrigin& origin)
      : file_(file), tracer_(tracer), origin_(origin), slices_(slices_of(tracer.events())) {}

  void write() {
    put(fmt::format(
        "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"lacuna\": {}, \"job\": \"{:016x}\", \"rank\": {}, "
        "\"size\": {}, \"dropped\": {}, \"clock_offset_us\": {:.3f}, \"clock_error_us\": {:.3f}}}, \"traceEvents\": "
        "[\n",
        json_string(version()), origin_.job, origin_.rank, origin_.size, tracer_.dropped(),
        origin_.clock.offset.count() / 1000, origin_.clock.error.count() / 1000));
    write_names();
    for (const CallSlice& call : slices_.calls) write_call(call);
    for (const StepSlice& step : slices_.steps) write_step(step);
    for (const Tracer::Event& event : tracer_.events()) {
      if (event.kind == Tracer::Kind::Waited) write_wait(event);
    }
    put("\n]}\n");
  }

 private:
  Nanoseconds time_of(std::uint64_t ticks) const {
    return std::llround(origin_.clock.theirs(origin_.scale.nanoseconds_at(ticks)));
  }

  /// The beginning of an event: the members that all events have, without the closing brace.
  std::string begin(char phase, int track, Nanoseconds at) {
    std::string text = fmt::format("{}{{\"ph\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": {:.3f}", separator_, phase,
                                   origin_.rank, track, microseconds(at));
    separator_ = ",\n";
    return text;
  }
  void put(std::string_view text) const { lacuna::put(file_, text); }

  void write_name(std::string_view what, int track, std::string_view name) {
    put(fmt::format("{}{{\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"{}\", \"args\": {{\"name\": {}}}}}",
                    separator_, origin_.rank, track, what, json_string(name)));
    separator_ = ",\n";
  }
  void write_names() {
    write_name("process_name", 0, fmt::format("rank {} ({})", origin_.rank, origin_.host));
    put(
        fmt::format("{}{{\"ph\": \"M\", \"pid\": {}, \"tid\": 0, \"name\": \"process_sort_index\", \"args\": "
                    "{{\"sort_index\": {}}}}}",
                    separator_, origin_.rank, origin_.rank));
    write_name("thread_name", calls_track, "calls");
    std::set<std::uint32_t> waiters;
    for (const Tracer::Event& event : tracer_.events()) {
      if (event.kind == Tracer::Kind::Waited && waiters.insert(event.step).second) {
        write_name("thread_name", waits_track + static_cast<int>(event.step),
                   fmt::format("waits of thread {}", event.step));
      }
    }
    std::set<int> tracks;
    for (const StepSlice& slice : slices_.steps) {
      const std::string_view name = traits_of(slice.step.step_kind).plural;
      if (!tracks.insert(track_of(slice)).second) continue;
      write_name("thread_name", track_of(slice),
                 slice.lane == 0 ? std::string(name) : fmt::format("{} {}", name, slice.lane + 1));
    }
  }

  std::string call_name(const Tracer::Event& call) const {
    if (call.call_kind == RunKind::Send) return "send message";
    if (call.call_kind == RunKind::Receive) return "receive message";
    return fmt::format("{} {}", to_string(static_cast<Collective>(call.step)), tracer_.names()[call.index]);
  }
  /// The members that identify the call, for the arguments of its events.
  std::string call_arguments(const Tracer::Event& call) const {
    const std::string communicator = fmt::format("\"communicator\": \"{:016x}\"", call.communicator);
    if (call.call_kind != RunKind::Collective) {
      return fmt::format("{}, \"tag\": {}, \"peer\": {}", communicator, call.run, call.peer);
    }
    return fmt::format("{}, \"call\": {}, \"collective\": \"{}\", \"algorithm\": {}", communicator, call.run,
                       to_string(static_cast<Collective>(call.step)), json_string(tracer_.names()[call.index]));
  }

  void write_call(const CallSlice& slice) {
    const std::uint64_t id =
        Digest().add(origin_.job).add(slice.call.call).add(static_cast<std::uint64_t>(origin_.rank)).value();
    const std::string common =
        fmt::format(", \"cat\": \"call\", \"id\": \"{:#x}\", \"name\": {}", id, json_string(call_name(slice.call)));
    put(begin('b', calls_track, time_of(slice.begin)) + common +
        fmt::format(", \"args\": {{{}, \"bytes\": {}, \"outcome\": \"{}\"}}}}", call_arguments(slice.call),
                    slice.call.bytes, slice.finished ? to_string(slice.outcome) : "unfinished"));
    put(begin('e', calls_track, std::max(time_of(slice.end), time_of(slice.begin) + shortest)) + common + "}");
    calls_[slice.call.call] = slice.call;
  }

  /// The name of the kernel, or else of the step's kind.
  std::string_view step_name(const Tracer::Event& step) const {
    return step.step_kind == StepKind::Kernel ? tracer_.names()[step.index] : traits_of(step.step_kind).name;
  }

  void write_step(const StepSlice& slice) {
    const Tracer::Event& step = slice.step;
    const Nanoseconds start = time_of(slice.begin), end = std::max(time_of(slice.end), start + shortest);
    const Tracer::Event& call = calls_[step.call];
    std::string args = fmt::format("{}, \"part\": {}, \"step\": {}, \"bytes\": {}", call_arguments(call), step.part,
                                   step.step, step.bytes);
    if (step.step_kind <= StepKind::ReceiveReduce && call.call_kind == RunKind::Collective) {
      args += fmt::format(", \"peer\": {}", step.peer);
    }
    if (slice.sent) args += fmt::format(", \"delivery\": \"{}\"", step.eager ? "eager" : "descriptor");
    if (!slice.finished) args += ", \"unfinished\": true";
    put(begin('X', track_of(slice), start) + fmt::format(", \"dur\": {:.3f}, \"cat\": \"step\", \"name\": {}, "
                                                         "\"args\": {{{}}}}}",
                                                         microseconds(end - start), json_string(step_name(step)),
                                                         args));
    if (slice.sent) {
      const Nanoseconds sent = std::clamp(time_of(slice.sent), start, end - shortest);
      write_arrow('s', slice, sent, message_id(call, step, origin_.rank, step.peer));
    } else if (step.has_message) {
      write_arrow('f', slice, end - shortest, message_id(call, step, step.peer, origin_.rank));
    }
  }

  /// Writes one end of a message's arrow, inside the step's slice.
  void write_arrow(char phase, const StepSlice& slice, Nanoseconds at, std::uint64_t id) {
    put(begin(phase, track_of(slice), at) +
        fmt::format(", \"cat\": \"message\", \"name\": \"message\", \"id\": \"{:#x}\"{}}}", id,
                    phase == 'f' ? ", \"bp\": \"e\"" : ""));
  }

  void write_wait(const Tracer::Event& wait) {
    const Nanoseconds start = time_of(wait.bytes), end = std::max(time_of(wait.ticks), start + shortest);
    put(begin('X', waits_track + static_cast<int>(wait.step), start) +
        fmt::format(", \"dur\": {:.3f}, \"cat\": \"wait\", \"name\": \"wait\"}}", microseconds(end - start)));
  }

  std::FILE* file_;
  const Tracer& tracer_;
  const TraceOrigin& origin_;
  const TraceSlices slices_;
  std::map<std::uint32_t, Tracer::Event> calls_;  // by the call's number in the trace
  const char* separator_ = "";
};

}  // namespace

Status write_trace(const std::filesystem::path& path, const Tracer& tracer, const TraceOrigin& origin) {
  return write_whole(path, [&](std::FILE* file) {
    TraceWriter(file, tracer, origin).write();
    return Status::ok();
  });
}

}  // namespace lacuna
