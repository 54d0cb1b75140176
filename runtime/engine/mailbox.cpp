#include "runtime/engine/mailbox.hpp"

namespace lacuna::runtime {
namespace {

MessageName name_of(const Landing& landing) { return {landing.source, landing.run, landing.digest}; }

}  // namespace

Mailbox::Stream& Mailbox::stream(Rank peer, std::uint32_t tag) {
  auto& streams_of_peer = peers_[static_cast<std::size_t>(peer)];
  if (!streams_of_peer) streams_of_peer = std::make_unique<std::array<Stream, streams>>();
  return (*streams_of_peer)[tag % streams];
}

bool Mailbox::take_turn(const MessageName& name) {
  Stream& from = stream(name.source, name.tag);
  if (from.received != name.number) return false;
  ++from.received;
  return true;
}

void Mailbox::add_receive(MessageRun& receive) {
  receive.turn = next_turn_++;
  receives_like(receive.peer, receive.tag).push(&receive);
}

MessageRun* Mailbox::take_receive(Rank source, std::uint32_t tag) {
  const auto has_tag = [&](const MessageRun* receive) { return receive->tag == tag; };
  const auto is_named = [&](const MessageRun* receive) { return receive->peer == source && receive->tag == tag; };
  auto& named = receives_[bucket(source, tag)];
  auto& from_any = receives_from_any_[tag % buckets];
  MessageRun** const any = from_any.find(has_tag);
  if (!any) return named.take_first(is_named).value_or(nullptr);
  MessageRun** const one = named.find(is_named);
  if (one && (*one)->turn < (*any)->turn) return named.take_first(is_named).value_or(nullptr);
  MessageRun* const taken = from_any.take_first(has_tag).value_or(nullptr);
  taken->peer = source;
  return taken;
}

void Mailbox::forget_receive(const MessageRun& receive) {
  static_cast<void>(receives_like(receive.peer, receive.tag).take_first([&](const MessageRun* candidate) {
    return candidate == &receive;
  }));
}

void Mailbox::add_unexpected(Landing* message) {
  message->turn = next_turn_++;
  unexpected_[bucket(message->source, message->run)].push(message);
}

const Landing* Mailbox::oldest_unexpected(std::uint32_t tag) {
  const Landing* oldest = nullptr;
  for (auto& messages : unexpected_) {
    Landing** const found = messages.find([&](const Landing* message) { return message->run == tag; });
    if (found && (!oldest || (*found)->turn < oldest->turn)) oldest = *found;
  }
  return oldest;
}

Landing* Mailbox::take_unexpected(Rank source, std::uint32_t tag) {
  if (source == MessageRun::any_process) {
    const Landing* const oldest = oldest_unexpected(tag);
    if (!oldest) return nullptr;
    source = oldest->source;
  }
  return unexpected_[bucket(source, tag)]
      .take_first([&](const Landing* message) { return message->source == source && message->run == tag; })
      .value_or(nullptr);
}

const Landing* Mailbox::unexpected(Rank source, std::uint32_t tag) {
  Landing** found = unexpected_[bucket(source, tag)].find(
      [&](const Landing* message) { return message->source == source && message->run == tag; });
  return found ? *found : nullptr;
}

Landing* Mailbox::take_held(Rank source, std::uint32_t tag) {
  if (held_.empty()) return nullptr;
  const Stream& from = stream(source, tag);
  const auto is_next = [&](const Landing* message) {
    return message->source == source && message->run % streams == tag % streams && message->digest == from.received;
  };
  return held_.take_first(is_next).value_or(nullptr);
}

bool Mailbox::holds(const MessageName& name) {
  return held_.find([&](const Landing* message) { return name_of(*message) == name; }) != nullptr;
}

Mailbox::Arriving& Mailbox::add_arriving(const MessageName& name, std::uint64_t bytes) {
  return arriving_[name.number % buckets].emplace_back(Arriving{.name = name, .bytes = bytes, .arrived = {}});
}

Mailbox::Arriving* Mailbox::arriving(const MessageName& name) {
  for (Arriving& message : arriving_[name.number % buckets]) {
    if (message.name == name) return &message;
  }
  return nullptr;
}

void Mailbox::end_arriving(const Arriving& message) {
  auto& among = arriving_[message.name.number % buckets];
  among[static_cast<std::size_t>(&message - among.data())] = among.back();
  among.pop_back();
}

void Mailbox::hand_over(const Landing& landing, MessageRun* receive) {
  if (Arriving* message = arriving(name_of(landing))) {
    message->landing = nullptr;
    message->receive = receive;
  }
}

std::vector<Landing*> Mailbox::clear() {
  std::vector<Landing*> landings;
  for (auto& messages : unexpected_) {
    while (!messages.empty()) landings.push_back(messages.pop());
  }
  while (!held_.empty()) landings.push_back(held_.pop());
  for (auto* all : {&receives_, &receives_from_any_}) {
    for (auto& receives : *all) {
      while (!receives.empty()) static_cast<void>(receives.pop());
    }
  }
  for (auto& among : arriving_) among.clear();
  return landings;
}

}  // namespace lacuna::runtime
