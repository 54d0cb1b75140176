#include "runtime/engine/matching.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/engine/message_tags.hpp"
#include "runtime/engine/run_table.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::string_view another_part = "another part of that number, which follows other values";

constexpr std::string_view waits_for_none = "a step that waits for no message";

/// Says why a run has no part of this number.
std::string text_of_parts(const CollectiveRun& run, std::uint32_t part) {
  if (run.chains.empty()) return count_of(run.parts, "part") + " in that call";
  return fmt::format("nothing that follows part {} of it", part - run.parts);
}

/// Returns the first fragment that waits in a landing, without its bytes.
Arrival arrival_of(const Landing& landing) {
  return {.from = landing.source,
          .header = {.bytes = landing.bytes,
                     .run = landing.run,
                     .index = landing.index,
                     .digest = landing.digest,
                     .part = landing.part,
                     .dtype = landing.dtype},
          .bytes = landing.bytes,
          .eager = landing.eager};
}

void push(Landing*& first, Landing* landing) { landing->next = std::exchange(first, landing); }

/// Takes the messages out of a list for which `takes` returns true. It may put them into another list.
template <class Takes>
void take_early(Landing*& first, Takes takes) {
  for (Landing** at = &first; *at;) {
    Landing* const next = (*at)->next;
    if (takes(**at)) {
      *at = next;
    } else {
      at = &(*at)->next;
    }
  }
}

}  // namespace

bool accepts(ActivePart& part, StepId id, std::uint64_t bytes) {
  StepState& state = part.states[id];
  const Step& step = part.graph->steps()[id];
  if (!step.carries) return bytes == state.bytes;
  const std::size_t width = size_of(part.buffer(step.to).dtype);
  if (bytes % width != 0 || !(bytes == state.bytes || (state.told && bytes < state.bytes))) return false;
  state.told = false;
  state.bytes = bytes;
  note_length(part, step, bytes / width);
  return true;
}

std::string text_of_length(const ActivePart& part, StepId id, std::uint64_t bytes, Rank from, Rank to) {
  const StepState& state = part.states[id];
  const Dtype dtype = part.buffer(part.graph->steps()[id].to).dtype;
  const std::size_t width = size_of(dtype);
  const std::string_view at_most = state.told ? "at most " : "";
  if (bytes % width != 0 || state.bytes % width != 0) {
    return fmt::format("rank {} sent {} where rank {} expects {}{}", from, count_of(bytes, "byte"), to, at_most,
                       state.bytes);
  }
  return fmt::format("rank {} sent {} of {} where rank {} expects {}{}", from, count_of(bytes / width, "element"),
                     to_string(dtype), to, at_most, state.bytes / width);
}

Matching::Matching(const Group& group, Rank process, const RunTable& runs, Landings& landings)
    : group_(group), process_(process), runs_(runs), landings_(landings), mailbox_(group.processes()) {}

Place Matching::place(const Arrival& message) {
  const MessageHeader& header = message.header;
  if (const auto flaw = flaw_of(message)) return refuse(message, *flaw);
  if (header.kind == MessageKind::Message) return place_message(message);
  CollectiveRun* run = runs_.find(header.run);
  const auto ahead = static_cast<std::int32_t>(header.run - runs_.next());
  if (!run && ahead < 0) return place_late(message);
  if (run) return place_in_run(*run, message);
  if (ahead > furthest_call) return refuse(message, fmt::format("no room for what is {} calls ahead", ahead));
  return place_early(message, early_for(header.run));
}

Place Matching::place_in_run(CollectiveRun& run, const Arrival& message) {
  const MessageHeader& header = message.header;
  if (header.part < run.parts && run.digest != header.digest) return refuse_as_different(message);
  if (run.may_begin(header.part)) return place_early(message, run.row_of(header.part).early);
  if (!run.has_begun(header.part)) return refuse(message, text_of_parts(run, header.part));
  ActivePart* part = run.find(header.part);
  if (!part) {  // the part has ended: all of its messages have come
    const bool unsent = run.unsent.has(message.from, header.index, header.part);
    return unsent ? refuse(message, waits_for_none) : Place{.duplicate = true};
  }
  return part->digest == header.digest ? place_in_part(*part, message) : refuse(message, another_part);
}

/// Says what is wrong with a header that no honest rank would send.
std::optional<std::string> Matching::flaw_of(const Arrival& message) const {
  const MessageHeader& header = message.header;
  const bool tagged = header.kind == MessageKind::Message;
  const bool inside = header.offset <= header.bytes && message.bytes <= header.bytes - header.offset;
  const bool whole_units =
      header.offset % 64 == 0 && (message.bytes % 64 == 0 || header.offset + message.bytes == header.bytes);
  if (group_.rank_of(message.from) < 0) return "a communicator without that rank";
  if (!tagged && header.kind != MessageKind::Step) {
    return fmt::format("no kind {} of messages", static_cast<int>(header.kind));
  }
  if (static_cast<std::size_t>(header.dtype) >= all_dtypes.size()) {
    return fmt::format("no element type {}", static_cast<int>(header.dtype));
  }
  if (!inside || !whole_units || (message.bytes == 0 && header.bytes > 0)) return "no such place in that message";
  return std::nullopt;
}

Place Matching::place_in_part(ActivePart& part, const Arrival& message) {
  const MessageHeader& header = message.header;
  const auto step = part.graph->receiver(part.distance_of(message.from), header.index);
  if (!step) return refuse(message, "no step that receives it");
  StepState& state = part.states[*step];
  if (state.ended && !state.arrived.all(header.bytes)) return refuse(message, waits_for_none);
  if (!state.started) {
    if (!state.landing) state.landing = landings_.park(message);
    return state.landing ? place_in_landing(message, *state.landing) : refuse_for_credit(message);
  }
  if (!accepts(part, *step, header.bytes)) {
    violation_ = text_of_length(part, *step, header.bytes, message.from, process_);
    return {.violation = violation_};
  }
  return admit(message, state.arrived, {.part = &part, .step = *step});
}

/// Says why this fragment does not belong to the message that waits in the landing.
std::optional<std::string> Matching::difference(const Arrival& message, const Landing& landing) {
  const MessageHeader& header = message.header;
  if (landing.bytes != header.bytes)
    return fmt::format("a message of {} of that name", count_of(landing.bytes, "byte"));
  if (landing.eager == message.eager && landing.digest == header.digest && landing.dtype == header.dtype) {
    return std::nullopt;
  }
  return "fragments of that message that came in another way";
}

Place Matching::place_in_landing(const Arrival& message, Landing& landing) {
  if (const auto what = difference(message, landing)) return refuse(message, *what);
  return admit(message, landing.arrived, {.landing = &landing});
}

/// Notes the bytes that come, and takes each byte only once.
Place Matching::admit(const Arrival& message, Arrived& arrived, const Place& place) {
  const std::uint64_t begin = message.header.offset;
  switch (arrived.add(begin, begin + message.bytes)) {
    case Arrived::Outcome::New:
      return place;
    case Arrived::Outcome::Known:
      return {.duplicate = true};
    case Arrived::Outcome::Overlaps:
      break;
  }
  return refuse(message, "some of these bytes already");
}

/// Places a message for a call that has ended here. All messages of that call have come, so that this one is a
/// duplicate if it belongs to the call.
Place Matching::place_late(const Arrival& message) {
  const MessageHeader& header = message.header;
  if (!runs_.remembers(header.run)) return refuse(message, "ended that call long ago");
  if (!runs_.had_part(header.run, header.part)) return refuse(message, "no such part in that call");
  const bool of_plan = runs_.is_planned(header.run, header.part);
  if (of_plan && !runs_.may_be_of(header.run, header.digest)) return refuse_as_different(message);
  if (runs_.was_unsent(header.run, message.from, header.index, header.part)) return refuse(message, waits_for_none);
  return {.duplicate = true};
}

/// Places a message for a call or a part that has not begun yet, among others of this list.
Place Matching::place_early(const Arrival& message, Landing*& early) {
  const MessageHeader& header = message.header;
  for (Landing* one = early; one; one = one->next) {
    const bool is_same =
        one->run == header.run && one->part == header.part && one->source == message.from && one->index == header.index;
    if (is_same) return place_in_landing(message, *one);
  }
  Landing* landing = landings_.park(message);
  if (!landing) return refuse_for_credit(message);
  push(early, landing);
  return place_in_landing(message, *landing);
}

/// Hands messages that came before their call to the chains of its parts. `first` is the part that begins first.
void Matching::hand_out(const ActivePart& first) {
  CollectiveRun& run = collective_of(first);
  take_early(early_for(run.number), [&](Landing& landing) {
    if (landing.run != run.number) return false;
    const bool differs = landing.part < run.parts && landing.digest != run.digest;
    if (differs || !(run.may_begin(landing.part) || run.has_begun(landing.part))) {
      drop(first, landing, differs);
    } else {
      push(run.row_of(landing.part).early, &landing);
    }
    return true;
  });
}

/// Hands the messages of a part to its steps.
std::string_view Matching::take_own(ActivePart& part) {
  take_early(collective_of(part).row_of(part.number).early, [&](Landing& landing) {
    if (landing.part != part.number) return false;
    const bool differs = landing.digest != part.digest;
    const auto step = part.graph->receiver(part.distance_of(landing.source), landing.index);
    if (step && !differs) {
      part.states[*step].landing = &landing;
    } else {
      drop(part, landing, differs);
    }
    return true;
  });
  return violation_;
}

/// Drops a message that belongs nowhere. It has come before this part began, or while it ran.
void Matching::drop(const ActivePart& part, Landing& landing, bool differs) {
  if (violation_.empty()) violation_ = text_of_stray(part, landing, differs);
  landings_.release(&landing);
}

/// Says why a message that has come early belongs nowhere.
std::string Matching::text_of_stray(const ActivePart& part, const Landing& landing, bool differs) const {
  const CollectiveRun& run = collective_of(part);
  if (differs && landing.part < run.parts) return text_of_difference(landing.source, run.number);
  if (differs) return text_of_violation(arrival_of(landing), another_part);
  return text_of_violation(arrival_of(landing),
                           landing.part == part.number ? "no step that receives it" : text_of_parts(run, landing.part));
}

std::string_view Matching::refuse_after(const ActivePart& part) {
  violation_.clear();
  take_early(collective_of(part).row_of(part.number).early, [&](Landing& landing) {
    drop(part, landing, false);
    return true;
  });
  return violation_;
}

std::string Matching::text_of_violation(const Arrival& message, std::string_view what) const {
  const MessageHeader& header = message.header;
  const std::string name = header.kind == MessageKind::Message
                               ? fmt::format("a message with {}", text_of_tag(header.run))
                               : fmt::format("message {} of part {} of call {}", header.index, header.part, header.run);
  return fmt::format("rank {} sent {} ({} at {}) to rank {}, which has {}", message.from, name,
                     count_of(header.bytes, "byte"), header.offset, process_, what);
}

std::string Matching::text_of_difference(Rank from, std::uint32_t number) const {
  return fmt::format("rank {} asked for something else than rank {}, which posted {}, or they differed before it", from,
                     process_, runs_.told(number).text);
}

Place Matching::refuse(const Arrival& message, std::string_view what) {
  violation_ = text_of_violation(message, what);
  return {.violation = violation_};
}

Place Matching::refuse_as_different(const Arrival& message) {
  violation_ = text_of_difference(message.from, message.header.run);
  return {.violation = violation_};
}

Place Matching::refuse_for_credit(const Arrival& message) {
  return refuse(message,
                fmt::format("granted a credit of {} (LACUNA_CREDITS, the same on all ranks) and has {} of it in use",
                            count_of(landings_.credit_bytes(), "byte"), landings_.parked(message)));
}

void Matching::clear() {
  for (Landing* landing : mailbox_.clear()) landings_.release(landing);
  for (Landing*& early : early_) {
    while (early) landings_.release(std::exchange(early, early->next));
  }
}

}  // namespace lacuna::runtime
