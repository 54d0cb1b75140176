#include "runtime/job/watch_messages.hpp"

#include <algorithm>

#include "runtime/job/admission.hpp"
#include "runtime/job/encoding.hpp"

namespace lacuna::runtime::watch_messages {

namespace {

void send(Channel& channel, Say kind, const Encoder& body) {
  channel.send(static_cast<std::uint8_t>(kind), body.bytes());
}

std::string_view cut(std::string_view text) { return text.substr(0, longest_text); }

/// The value, if the message was read to its end without a miss.
template <class T>
std::optional<T> complete(const Decoder& body, T value) {
  if (!body.complete()) return std::nullopt;
  return value;
}

}  // namespace

void send(Channel& channel, Say kind) { send(channel, kind, Encoder()); }

void send_goodbye(Channel& channel, const std::vector<Reach>& reached) {
  Encoder body;
  const std::size_t count = std::min(reached.size(), most_reaches);
  body.put(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) body.put(reached[i].communicator).put(reached[i].next_run);
  send(channel, Say::Goodbye, body);
}

void send_report(Channel& channel, const Trouble& trouble) {
  Encoder body;
  body.put(static_cast<std::uint8_t>(trouble.kind)).put(trouble.communicator).put(trouble.run);
  body.put(cut(trouble.text)).put(cut(trouble.name)).put(static_cast<std::uint32_t>(trouble.members.size()));
  for (Rank member : trouble.members) body.put(static_cast<std::uint32_t>(member));
  send(channel, Say::Report, body);
}

void send_ask(Channel& channel, const Ask& ask) {
  send(channel, Say::Ask, Encoder().put(ask.inquiry).put(ask.call.first).put(ask.call.second));
}

void send_answer(Channel& channel, const Answer& answer) {
  Encoder body;
  body.put(answer.inquiry).put(static_cast<std::uint8_t>(answer.posted.has_value()));
  const Watched::Posted posted = answer.posted.value_or(Watched::Posted());
  send(channel, Say::Answer, body.put(posted.digest).put(cut(posted.text)));
}

void send_verdict(Channel& channel, const Status& verdict) {
  send(channel, Say::Verdict, Encoder().put(static_cast<std::int32_t>(verdict.code())).put(cut(verdict.message())));
}

void send_time(Channel& channel, Say kind, const Time& time) {
  Encoder body;
  for (Clock::time_point one : {time.asked, time.theirs}) body.put(std::int64_t{one.time_since_epoch().count()});
  send(channel, kind, body);
}

std::optional<std::vector<Reach>> read_goodbye(const Frame& frame) {
  Decoder body(frame.body);
  const auto count = body.get<std::uint32_t>();
  if (count > most_reaches) return std::nullopt;
  std::vector<Reach> reached;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto communicator = body.get<std::uint64_t>();
    reached.push_back({.communicator = communicator, .next_run = body.get<std::uint32_t>()});
  }
  return complete(body, std::move(reached));
}

std::optional<Trouble> read_report(const Frame& frame) {
  Decoder body(frame.body);
  Trouble trouble;
  const auto kind = body.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Trouble::Kind::Expired)) return std::nullopt;
  trouble.kind = static_cast<Trouble::Kind>(kind);
  trouble.communicator = body.get<std::uint64_t>();
  trouble.run = body.get<std::uint32_t>();
  trouble.text = body.text(longest_text);
  trouble.name = body.text(longest_text);
  const auto members = body.get<std::uint32_t>();
  if (members > most_members) return std::nullopt;
  for (std::uint32_t i = 0; i < members; ++i) trouble.members.push_back(static_cast<Rank>(body.get<std::uint32_t>()));
  return complete(body, std::move(trouble));
}

std::optional<Ask> read_ask(const Frame& frame) {
  Decoder body(frame.body);
  Ask ask;
  ask.inquiry = body.get<std::uint32_t>();
  ask.call.first = body.get<std::uint64_t>();
  ask.call.second = body.get<std::uint32_t>();
  return complete(body, ask);
}

std::optional<Answer> read_answer(const Frame& frame) {
  Decoder body(frame.body);
  Answer answer;
  answer.inquiry = body.get<std::uint32_t>();
  const bool has_posted = body.get<std::uint8_t>() != 0;
  Watched::Posted posted;
  posted.digest = body.get<std::uint64_t>();
  posted.text = body.text(longest_text);
  if (has_posted) answer.posted = std::move(posted);
  return complete(body, std::move(answer));
}

std::optional<Time> read_time(const Frame& frame) {
  Decoder body(frame.body);
  Time time;
  for (Clock::time_point* one : {&time.asked, &time.theirs}) {
    *one = Clock::time_point(Clock::duration(body.get<std::int64_t>()));
  }
  return complete(body, time);
}

std::optional<Status> read_verdict(const Frame& frame) {
  Decoder body(frame.body);
  const Code code = admission::code_from(body.get<std::int32_t>());
  return complete(body, Status(code, body.text(longest_text)));
}

}  // namespace lacuna::runtime::watch_messages
