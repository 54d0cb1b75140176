#include "runtime/communicator/announcement.hpp"

#include <algorithm>
#include <set>

#include "runtime/engine/encoding.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t longest_name = 256;
constexpr std::size_t longest_method = std::size_t{1} << 24;
constexpr std::uint64_t most_elements_of_a_call = std::uint64_t{1} << 48;

template <class Enum>
void put(Encoder& body, Enum value) {
  body.put(static_cast<std::uint8_t>(value));
}

/// Reads the number of an enumeration, or of a bool, that has so many values.
template <class Enum>
bool take(Decoder& body, std::size_t values, Enum& value) {
  const auto number = body.get<std::uint8_t>();
  value = static_cast<Enum>(number);
  return number < values;
}

void put_call(Encoder& body, const Announcement& announcement) {
  const Call& call = announcement.call;
  body.put(announcement.number).put(announcement.history);
  put(body, call.collective);
  put(body, call.dtype);
  put(body, call.reduction);
  put(body, call.options.priority);
  body.put(std::uint64_t{call.count}).put(call.root);
  body.put(std::int64_t{std::min(call.options.deadline, never).count()});
  body.put(announcement.algorithm).put(announcement.method);
  put(body, announcement.lists_output);
}

bool take_call(Decoder& body, Rank processes, Announcement& announcement) {
  Call& call = announcement.call;
  announcement.number = body.get<std::uint32_t>();
  announcement.history = body.get<std::uint64_t>();
  bool sound = take(body, all_collectives.size(), call.collective);
  sound = take(body, all_dtypes.size(), call.dtype) && sound;
  sound = take(body, all_reductions.size(), call.reduction) && sound;
  sound = take(body, priorities, call.options.priority) && sound;
  const auto count = body.get<std::uint64_t>();
  call.root = body.get<Rank>();
  const std::chrono::milliseconds deadline(body.get<std::int64_t>());
  announcement.algorithm = body.text(longest_name);
  announcement.method = body.text(longest_method);
  sound = take(body, 2, announcement.lists_output) && sound;
  call.count = count;
  call.options.deadline = deadline;
  return sound && count < most_elements_of_a_call && deadline.count() >= 0 && deadline <= never && call.root >= 0 &&
         call.root < processes;
}

bool take_members(Decoder& body, Rank processes, std::vector<Rank>& members) {
  const auto count = body.get<std::uint32_t>();
  if (count == 0 || count > static_cast<std::uint32_t>(processes)) return false;
  for (std::uint32_t i = 0; i < count; ++i) members.push_back(body.get<Rank>());
  const std::set<Rank> different(members.begin(), members.end());
  return different.size() == count && *different.begin() >= 0 && *different.rbegin() < processes;
}

}  // namespace

std::vector<std::byte> encode(const Announcement& announcement) {
  Encoder body;
  put(body, announcement.kind);
  body.put(announcement.communicator);
  if (announcement.kind == Announcement::Kind::Made) {
    body.put(static_cast<std::uint32_t>(announcement.members.size()));
    for (Rank member : announcement.members) body.put(member);
  }
  if (announcement.kind == Announcement::Kind::Call) put_call(body, announcement);
  return {body.bytes().begin(), body.bytes().end()};
}

std::optional<Announcement> decode_announcement(std::span<const std::byte> bytes, Rank processes) {
  constexpr std::size_t kinds = static_cast<std::size_t>(Announcement::Kind::Left) + 1;
  Decoder body(bytes);
  Announcement announcement;
  bool sound = take(body, kinds, announcement.kind);
  announcement.communicator = body.get<std::uint64_t>();
  if (announcement.kind == Announcement::Kind::Made) sound = take_members(body, processes, announcement.members);
  if (announcement.kind == Announcement::Kind::Call) sound = take_call(body, processes, announcement);
  if (!sound || !body.complete()) return std::nullopt;
  return announcement;
}

}  // namespace lacuna::runtime
