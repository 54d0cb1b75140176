#include <fmt/format.h>

#include "runtime/engine/matching.hpp"
#include "runtime/engine/message_tags.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {

Status fits(const MessageRun& receive, Rank source, std::uint64_t bytes, Dtype element) {
  const bool exact = is_of_exchange(receive.tag);
  const bool long_enough = !exact || bytes == receive.call.count;
  if (long_enough && bytes <= receive.call.count && element == receive.element) return {};
  return {Code::Mismatch, fmt::format("the message from rank {} with {} has {} of {}; the receive takes {} {} of {}",
                                      source, text_of_tag(receive.tag), count_of(bytes / size_of(element), "element"),
                                      to_string(element), exact ? "exactly" : "at most",
                                      receive.call.count / size_of(receive.element), to_string(receive.element))};
}

Place Matching::place_message(const Arrival& message) {
  const MessageName name{message.from, message.header.run, message.header.digest};
  if (Mailbox::Arriving* known = mailbox_.arriving(name)) return place_rest(message, *known);
  const std::int32_t ahead = mailbox_.ahead(name);
  if (ahead < 0 || (ahead > 0 && mailbox_.holds(name))) return {.duplicate = true};
  if (ahead > furthest_call) {
    return refuse(message, fmt::format("no room for what is {} messages ahead", ahead));
  }
  return place_first(message);
}

Place Matching::place_rest(const Arrival& message, Mailbox::Arriving& known) {
  if (message.header.bytes != known.bytes) {
    return refuse(message, fmt::format("a message of {} of that name", count_of(known.bytes, "byte")));
  }
  if (known.landing) {
    if (const auto what = difference(message, *known.landing)) return refuse(message, *what);
  }
  Place place{.landing = known.landing};
  if (known.receive) place.part = &known.receive->active.front();
  const Place admitted = admit(message, known.arrived, place);
  if (known.arrived.all(known.bytes)) mailbox_.end_arriving(known);
  return admitted;
}

/// Places the first fragment that comes of a message. It decides which receive takes the message, unless the message
/// has overtaken another one.
Place Matching::place_first(const Arrival& message) {
  const MessageHeader& header = message.header;
  const MessageName name{message.from, header.run, header.digest};
  const bool in_turn = mailbox_.take_turn(name);
  MessageRun* receive = in_turn ? mailbox_.take_receive(name.source, name.tag) : nullptr;
  Landing* landing = receive ? nullptr : landings_.park(message);
  if (!receive && !landing) return refuse_for_credit(message);
  landings_.give(landing, [&] {
    if (message.bytes < header.bytes) {
      Mailbox::Arriving& rest = mailbox_.add_arriving(name, header.bytes);
      rest.arrived.add(header.offset, header.offset + message.bytes);
      rest.receive = receive && fits(*receive, name.source, header.bytes, header.dtype) ? receive : nullptr;
      rest.landing = landing;
    }
    if (landing) in_turn ? mailbox_.add_unexpected(landing) : mailbox_.hold(landing);
  });
  return {.landing = landing, .receive = receive, .in_turn = in_turn};
}

Landing* Matching::expect(MessageRun& receive) {
  Landing* message = mailbox_.take_unexpected(receive.peer, receive.tag);
  if (message) {
    receive.peer = message->source;
  } else {
    mailbox_.add_receive(receive);
  }
  return message;
}

std::optional<Matching::Met> Matching::next_met(Rank source, std::uint32_t tag) {
  while (Landing* next = mailbox_.take_held(source, tag)) {
    mailbox_.take_turn({next->source, next->run, next->digest});
    if (MessageRun* receive = mailbox_.take_receive(next->source, next->run)) return Met{receive, next};
    mailbox_.add_unexpected(next);
  }
  return std::nullopt;
}

Status Matching::hand_over(const Met& met) {
  const Landing& message = *met.message;
  Status fit = fits(*met.receive, message.source, message.bytes, message.dtype);
  mailbox_.hand_over(message, fit ? met.receive : nullptr);
  return fit;
}

}  // namespace lacuna::runtime
