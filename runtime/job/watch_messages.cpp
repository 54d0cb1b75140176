#include "runtime/job/watch_messages.hpp"

#include <algorithm>

#include "runtime/engine/encoding.hpp"
#include "runtime/job/admission.hpp"

namespace lacuna::runtime::watch_messages {

namespace {

void send(Channel& channel, Say kind, const Encoder& body) {
  channel.send(static_cast<std::uint8_t>(kind), body.bytes());
}

std::string_view cut(std::string_view text) { return text.substr(0, longest_text); }

void put_ranks(Encoder& body, const std::vector<Rank>& ranks) {
  body.put(static_cast<std::uint32_t>(ranks.size()));
  for (Rank rank : ranks) body.put(static_cast<std::uint32_t>(rank));
}

/// Reads a list of ranks. Nothing if there are too many.
std::optional<std::vector<Rank>> take_ranks(Decoder& body) {
  const auto count = body.get<std::uint32_t>();
  if (count > most_members) return std::nullopt;
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < count; ++i) ranks.push_back(static_cast<Rank>(body.get<std::uint32_t>()));
  return ranks;
}

/// Returns the value if the message had everything that was read, and nothing behind that.
template <class T>
std::optional<T> complete(const Decoder& body, T value) {
  if (!body.complete()) return std::nullopt;
  return value;
}

}  // namespace

void send(Channel& channel, Say kind) { send(channel, kind, Encoder()); }

void send_leaving(Channel& channel, Rank rank) { send(channel, Say::Leaving, Encoder().put(rank)); }

void send_ask_sent(Channel& channel, Rank to) { send(channel, Say::AskSent, Encoder().put(to)); }

void send_sent(Channel& channel, const Sent& sent) {
  send(channel, Say::Sent, Encoder().put(sent.to).put(sent.messages));
}

void send_goodbye(Channel& channel, const std::vector<Reach>& reached) {
  Encoder body;
  const std::size_t count = std::min(reached.size(), most_reaches);
  body.put(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const Reach& one = reached[i];
    body.put(one.communicator).put(one.next_run).put(static_cast<std::uint8_t>(one.failed));
    put(body, i < communicators_told ? one.last : Posted{.digest = 0, .text = {}, .history = one.last.history});
  }
  send(channel, Say::Goodbye, body);
}

void send_report(Channel& channel, const Trouble& trouble) {
  Encoder body;
  body.put(static_cast<std::uint8_t>(trouble.kind)).put(trouble.communicator).put(trouble.run);
  body.put(cut(trouble.text)).put(cut(trouble.name)).put(static_cast<std::int32_t>(trouble.peer));
  put_ranks(body, trouble.members);
  const std::size_t waits = std::min(trouble.waits.size(), most_waits);
  body.put(static_cast<std::uint8_t>(waits));
  for (std::size_t i = 0; i < waits; ++i) body.put(trouble.waits[i].peer).put(trouble.waits[i].received);
  body.put(std::int64_t{trouble.waited.count()});
  send(channel, Say::Report, body);
}

void send_ask(Channel& channel, const Ask& ask) {
  send(channel, Say::Ask, Encoder().put(ask.inquiry).put(ask.call.first).put(ask.call.second));
}

void send_answer(Channel& channel, const Answer& answer) {
  Encoder body;
  body.put(answer.inquiry).put(static_cast<std::uint8_t>(answer.posted.has_value()));
  put(body, answer.posted.value_or(Posted()));
  send(channel, Say::Answer, body);
}

void send_verdict(Channel& channel, const Verdict& verdict) {
  Encoder body;
  body.put(static_cast<std::int32_t>(verdict.reason.code())).put(cut(verdict.reason.message()));
  body.put(static_cast<std::uint8_t>(verdict.communicator.has_value())).put(verdict.communicator.value_or(0));
  put_ranks(body, verdict.members);
  send(channel, Say::Verdict, body);
}

void send_time(Channel& channel, Say kind, const Time& time) {
  Encoder body;
  for (Clock::time_point one : {time.asked, time.theirs}) body.put(std::int64_t{one.time_since_epoch().count()});
  send(channel, kind, body);
}

std::optional<Rank> read_leaving(const Frame& frame) {
  Decoder body(frame.body);
  const auto rank = body.get<Rank>();
  return complete(body, rank);
}

std::optional<Rank> read_ask_sent(const Frame& frame) { return read_leaving(frame); }

std::optional<Sent> read_sent(const Frame& frame) {
  Decoder body(frame.body);
  Sent sent;
  sent.to = body.get<Rank>();
  sent.messages = body.get<std::uint64_t>();
  return complete(body, sent);
}

std::optional<std::vector<Reach>> read_goodbye(const Frame& frame) {
  Decoder body(frame.body);
  const auto count = body.get<std::uint32_t>();
  if (count > most_reaches) return std::nullopt;
  std::vector<Reach> reached;
  for (std::uint32_t i = 0; i < count; ++i) {
    Reach one;
    one.communicator = body.get<std::uint64_t>();
    one.next_run = body.get<std::uint32_t>();
    one.failed = body.get<std::uint8_t>() != 0;
    one.last = get_posted(body);
    reached.push_back(std::move(one));
  }
  return complete(body, std::move(reached));
}

std::optional<Trouble> read_report(const Frame& frame) {
  Decoder body(frame.body);
  Trouble trouble;
  const auto kind = body.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Trouble::Kind::Refused)) return std::nullopt;
  trouble.kind = static_cast<Trouble::Kind>(kind);
  trouble.communicator = body.get<std::uint64_t>();
  trouble.run = body.get<std::uint32_t>();
  trouble.text = body.text(longest_text);
  trouble.name = body.text(longest_text);
  trouble.peer = body.get<std::int32_t>();
  auto members = take_ranks(body);
  if (!members) return std::nullopt;
  trouble.members = *std::move(members);
  const std::size_t waits = std::min<std::size_t>(body.get<std::uint8_t>(), most_waits);
  for (std::size_t i = 0; i < waits; ++i) {
    Wait& wait = trouble.waits.emplace_back();
    wait.peer = body.get<Rank>();
    wait.received = body.get<std::uint64_t>();
  }
  trouble.waited = std::chrono::milliseconds(body.get<std::int64_t>());
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
  Posted posted = get_posted(body);
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

std::optional<Verdict> read_verdict(const Frame& frame) {
  Decoder body(frame.body);
  const Code code = admission::code_from(body.get<std::int32_t>());
  Verdict verdict{.reason = Status(code, body.text(longest_text)), .communicator = {}, .members = {}};
  const bool confined = body.get<std::uint8_t>() != 0;
  const auto communicator = body.get<std::uint64_t>();
  if (confined) verdict.communicator = communicator;
  auto members = take_ranks(body);
  if (!members) return std::nullopt;
  verdict.members = *std::move(members);
  return complete(body, std::move(verdict));
}

}  // namespace lacuna::runtime::watch_messages
