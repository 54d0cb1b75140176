#include "runtime/engine/posted.hpp"

#include <algorithm>

namespace lacuna::runtime {
namespace {

constexpr std::size_t longest_call = 400;  // bytes of a call's text

void put_call(Encoder& body, const Posted& posted) {
  body.put(posted.digest).put(posted.history).put(std::string_view(posted.text).substr(0, longest_call));
}

Posted get_call(Decoder& body) {
  Posted posted;
  posted.digest = body.get<std::uint64_t>();
  posted.history = body.get<std::uint64_t>();
  posted.text = body.text(longest_call);
  return posted;
}

}  // namespace

const Posted& earlier(const Posted& posted, std::size_t steps) {
  static const Posted forgotten;
  if (steps == 0) return posted;
  return steps <= posted.before.size() ? posted.before[steps - 1] : forgotten;
}

Posted posted_at(const Reach& reach, std::uint32_t run) {
  const std::size_t steps = reach.next_run - 1 - run;
  Posted posted = earlier(reach.last, steps);
  if (steps > 0 && steps < reach.last.before.size()) {
    posted.before.assign(reach.last.before.begin() + static_cast<std::ptrdiff_t>(steps), reach.last.before.end());
  }
  return posted;
}

void put(Encoder& body, const Posted& posted) {
  put_call(body, posted);
  const std::size_t before = std::min(posted.before.size(), calls_told - 1);
  body.put(static_cast<std::uint8_t>(before));
  for (std::size_t i = 0; i < before; ++i) put_call(body, posted.before[i]);
}

Posted get_posted(Decoder& body) {
  Posted posted = get_call(body);
  const std::size_t before = std::min<std::size_t>(body.get<std::uint8_t>(), calls_told);
  for (std::size_t i = 0; i < before; ++i) posted.before.push_back(get_call(body));
  return posted;
}

std::vector<std::byte> encode(const Posted& posted) {
  Encoder body;
  put(body, posted);
  return {body.bytes().begin(), body.bytes().end()};
}

std::optional<Posted> decode_posted(std::span<const std::byte> bytes) {
  Decoder body(bytes);
  Posted posted = get_posted(body);
  if (!body.complete()) return std::nullopt;
  return posted;
}

}  // namespace lacuna::runtime
