#include <fmt/format.h>

#include <algorithm>

#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/values/message.hpp"

namespace lacuna::runtime {

// Where what arrives belongs. Headers are believed only as far as they were checked here: their sender may be of
// another mind, or broken.

/// The step that takes this message, or the landing where it waits for its step. Nothing if it is to be dropped.
std::optional<Executor::Place> Executor::place(const Arrival& message) {
  const MessageHeader& header = message.header;
  const auto found = std::find_if(communicators_.begin(), communicators_.end(),
                                  [&](const Communicator* c) { return c->id_ == header.communicator; });
  if (found == communicators_.end() || !(*found)->poison_.is_ok() || is_doomed(**found)) return std::nullopt;
  Communicator& communicator = **found;
  serving_ = &communicator;
  if (!is_sound(communicator, message)) return std::nullopt;
  if (header.kind == MessageKind::Message) return place_message(communicator, message);
  Run* run = communicator.runs_.find(header.run);
  const auto ahead = static_cast<std::int32_t>(header.run - communicator.runs_.next());
  if (!run && ahead < 0) return place_late(communicator, message);
  if (run && run->digest != header.digest) {
    asked_for_something_else(communicator, message);
  } else if (run && header.part >= run->parts) {
    violation(communicator, message, fmt::format("{} parts in that call", run->parts));
  } else if (!run && ahead > furthest_call) {
    violation(communicator, message, fmt::format("no room for what is {} calls ahead", ahead));
  } else if (!run || header.part >= run->next_part) {
    return place_in_landing(communicator, message, early_landing(communicator, message));
  } else if (ActivePart* part = run->find(header.part)) {
    return place_in_part(*part, message);
  } else {
    return duplicate();  // a part ends when all of its messages have come
  }
  return std::nullopt;
}

/// Is this header one that some rank could honestly send? Reports it otherwise.
bool Executor::is_sound(Communicator& communicator, const Arrival& message) {
  const MessageHeader& header = message.header;
  const bool tagged = header.kind == MessageKind::Message;
  const bool inside = header.offset <= header.bytes && message.bytes <= header.bytes - header.offset;
  const bool whole_units =
      header.offset % 64 == 0 && (message.bytes % 64 == 0 || header.offset + message.bytes == header.bytes);
  if (communicator.group_.rank_of(message.from) < 0) {
    violation(communicator, message, "not that rank among its members");
  } else if (!tagged && header.kind != MessageKind::Step) {
    violation(communicator, message, fmt::format("no kind {} of messages", static_cast<int>(header.kind)));
  } else if (static_cast<std::size_t>(header.dtype) >= all_dtypes.size()) {
    violation(communicator, message, fmt::format("no element type {}", static_cast<int>(header.dtype)));
  } else if (tagged && header.run > static_cast<std::uint32_t>(largest_tag)) {
    violation(communicator, message, fmt::format("no tags above {}", largest_tag));
  } else if (!inside || !whole_units || (message.bytes == 0 && header.bytes > 0)) {
    violation(communicator, message, "no such place in it");
  } else {
    return true;
  }
  return false;
}

std::optional<Executor::Place> Executor::place_in_part(ActivePart& part, const Arrival& message) {
  const MessageHeader& header = message.header;
  Communicator& communicator = *part.run->communicator;
  const auto step = part.graph->receiver(part.distance_of(message.from), header.index);
  if (!step) {
    violation(communicator, message, "no step that receives it");
    return std::nullopt;
  }
  StepState& state = part.states[*step];
  if (state.ended && !state.arrived.all(header.bytes)) {
    violation(communicator, message, "a step that waits for none");
    return std::nullopt;
  }
  if (!state.started) {
    if (!state.landing) state.landing = park(communicator, message);
    return place_in_landing(communicator, message, state.landing);
  }
  if (!accepts(part, *step, header.bytes)) {
    violation(communicator, message,
              fmt::format("a step that expects {}{} bytes", state.told ? "at most " : "", state.bytes));
    return std::nullopt;
  }
  return admit(communicator, message, state.arrived, {.part = &part, .step = *step});
}

std::optional<Executor::Place> Executor::place_in_landing(Communicator& communicator, const Arrival& message,
                                                          Landing* landing) {
  if (!landing || !is_like(communicator, message, *landing)) return std::nullopt;
  return admit(communicator, message, landing->arrived, {.landing = landing});
}

/// Does this fragment belong to the message that waits there? Reports it otherwise.
bool Executor::is_like(Communicator& communicator, const Arrival& message, const Landing& landing) {
  const MessageHeader& header = message.header;
  if (landing.bytes != header.bytes) {
    violation(communicator, message, fmt::format("a message of {} bytes of that name", landing.bytes));
  } else if (landing.eager != message.eager || landing.digest != header.digest || landing.dtype != header.dtype) {
    violation(communicator, message, "fragments of it that came in another way");
  } else {
    return true;
  }
  return false;
}

/// Takes note of the bytes that come, each once.
std::optional<Executor::Place> Executor::admit(Communicator& communicator, const Arrival& message, Arrived& arrived,
                                               const Place& place) {
  const std::uint64_t begin = message.header.offset;
  switch (arrived.add(begin, begin + message.bytes)) {
    case Arrived::Outcome::New:
      return place;
    case Arrived::Outcome::Known:
      return duplicate();
    case Arrived::Outcome::Overlaps:
      violation(communicator, message, "some of these bytes");
      break;
  }
  return std::nullopt;
}

Executor::Place Executor::duplicate() {
  ++tally_.duplicate_fragments;
  return {.duplicate = true};
}

/// For a call that has ended here, so that all of its messages have come: a duplicate, if it is of that call.
std::optional<Executor::Place> Executor::place_late(Communicator& communicator, const Arrival& message) {
  if (!communicator.runs_.remembers(message.header.run)) {
    violation(communicator, message, "ended that call long ago");
  } else if (!communicator.runs_.may_be_of(message.header.run, message.header.digest)) {
    asked_for_something_else(communicator, message);
  } else {
    return duplicate();
  }
  return std::nullopt;
}

/// Null after a report.
Landing* Executor::early_landing(Communicator& communicator, const Arrival& message) {
  const MessageHeader& header = message.header;
  auto& early = communicator.early(header.run);
  const auto same = std::find_if(early.begin(), early.end(), [&](const Landing* landing) {
    return landing->run == header.run && landing->part == header.part && landing->source == message.from &&
           landing->index == header.index;
  });
  if (same != early.end()) return *same;
  early.reserve(early.size() + 1);
  Landing* landing = park(communicator, message);
  if (landing) early.push_back(landing);
  return landing;
}

/// A place for a message to wait in; null, after a report, if its sender had no credit for it.
Landing* Executor::park(Communicator& communicator, const Arrival& message) {
  const MessageHeader& header = message.header;
  Link& sender = link(message.from);
  const std::uint64_t granted = options_.credit_bytes + (header.bytes == 0 ? empty_allowance : 0);
  if (message.eager) {
    std::uint64_t& parked = sender.parked_of(header.bytes);
    if (header.bytes > granted || parked + header.bytes + fragment_charge > granted) {
      violation(communicator, message,
                fmt::format("granted a credit of {} bytes (LACUNA_CREDITS, the same on all ranks), of which {} are in "
                            "use",
                            options_.credit_bytes, parked));
      return nullptr;
    }
    parked += header.bytes + fragment_charge;
  }
  Landing* landing = landings_.take();
  landing->source = message.from;
  landing->run = header.run;
  landing->part = header.part;
  landing->index = header.index;
  landing->digest = header.digest;
  landing->dtype = header.dtype;
  landing->eager = message.eager;
  landing->bytes = header.bytes;
  ++tally_.parked_messages;
  return landing;
}

/// Gives a landing's memory back and its eager bytes as credit to the sender.
void Executor::release_landing(Landing* landing) {
  Link& sender = link(landing->source);
  for (const auto& piece : landing->pieces) sender.consumed += piece.bytes + fragment_charge;
  for (const auto& waiting : landing->descriptors) discards_.push_back(waiting.descriptor);
  sender.offered -= landing->descriptors.size();
  if (landing->eager) sender.parked_of(landing->bytes) -= landing->bytes + fragment_charge;
  if (landing->memory) blocks_.give_back(std::exchange(landing->memory, nullptr), landing->bytes);
  landing->arrived.clear();
  landing->pieces.clear();
  landing->descriptors.clear();
  request_pump(landing->source);
  landings_.give_back(landing);
}

void Executor::release_landings(Run& run) {
  for (auto& part : run.active) {
    for (StepState& state : part->states) {
      if (state.landing) release_landing(std::exchange(state.landing, nullptr));
    }
  }
}

/// Messages that have come before their part was begun find their steps.
void Executor::adopt_early_messages(ActivePart& part) {
  const Run& run = *part.run;
  Communicator& communicator = *run.communicator;
  auto& early = communicator.early(run.number);
  for (std::size_t i = 0; i < early.size();) {
    Landing* landing = early[i];
    const bool differs = landing->digest != run.digest;
    if (landing->run != run.number || (landing->part != part.number && landing->part < run.parts && !differs)) {
      ++i;
      continue;
    }
    early[i] = early.back();
    early.pop_back();
    const auto step = part.graph->receiver(part.distance_of(landing->source), landing->index);
    if (!differs && landing->part == part.number && step) {
      part.states[*step].landing = landing;
      continue;
    }
    const Arrival message{landing->source, header_of(communicator, *landing), landing->bytes, landing->eager};
    if (differs) {
      asked_for_something_else(communicator, message);
    } else {
      violation(
          communicator, message,
          landing->part < run.parts ? "no step that receives it" : fmt::format("{} parts in that call", run.parts));
    }
    release_landing(landing);
  }
}

MessageHeader Executor::header_of(const Communicator& communicator, const Landing& landing) {
  return {.communicator = communicator.id_,
          .bytes = landing.bytes,
          .run = landing.run,
          .index = landing.index,
          .digest = landing.digest,
          .part = static_cast<std::uint16_t>(landing.part),
          .dtype = landing.dtype};
}

void Executor::asked_for_something_else(Communicator& communicator, const Arrival& message) {
  trouble(communicator, Trouble::Kind::Mismatch, message.header.run,
          fmt::format("rank {} asked for something else than rank {}, which posted {}, or they differed before it",
                      message.from, rank_, communicator.runs_.told(message.header.run).text));
}

void Executor::violation(Communicator& communicator, const Arrival& message, std::string_view what) {
  const MessageHeader& header = message.header;
  const bool tagged = header.kind == MessageKind::Message;
  const std::string name = tagged
                               ? fmt::format("a message with tag {}", header.run)
                               : fmt::format("message {} of part {} of call {}", header.index, header.part, header.run);
  std::string text = fmt::format("rank {} sent {} ({} bytes at {}) to rank {}, which has {}", message.from, name,
                                 header.bytes, header.offset, rank_, what);
  if (!tagged) return trouble(communicator, Trouble::Kind::Mismatch, header.run, std::move(text));
  message_trouble(Trouble::Kind::Mismatch, communicator, {.source = message.from, .tag = header.run}, std::move(text));
}

}  // namespace lacuna::runtime
