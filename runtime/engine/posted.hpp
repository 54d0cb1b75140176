#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/encoding.hpp"

/// This file holds what ranks tell each other about the calls that they have posted.
namespace lacuna::runtime {

/// What a rank posted as one call: the digest of the call and its text, such as "allreduce ring f32 sum count 1000".
/// Digest 0: the call was posted, but what it asked for is forgotten.
struct Posted {
  std::uint64_t digest = 0;
  std::string text;
  std::uint64_t history = 0;     ///< stands for this call and all before it; 0: forgotten
  std::vector<Posted> before{};  ///< the calls before it that are remembered, the youngest first, without theirs
};

/// How far a rank came on one of its communicators: the number that its next call would have had, and its last calls.
struct Reach {
  std::uint64_t communicator = 0;
  std::uint32_t next_run = 0;
  bool failed = false;  ///< the communicator has failed: then the ranks need not have come equally far
  Posted last{};        ///< call next_run - 1, if there was one
};

/// How many calls a rank tells of: the one for which it is asked, or its last one, and the calls before it.
inline constexpr std::size_t calls_told = 8;
/// For how many communicators a rank tells of that many calls when it leaves. Of the others it tells the last call's
/// history only.
inline constexpr std::size_t communicators_told = 64;
/// How many communicators a goodbye names. They are the youngest.
inline constexpr std::size_t most_reaches = 4096;

/// Was call `a` of a communicator posted before call `b`? Their numbers wrap around: the two are less than 2^31 apart.
constexpr bool comes_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

/// Returns the call that was posted `steps` calls before this one. Its digest is 0 if it is forgotten. The reference is
/// valid as long as `posted`.
const Posted& earlier(const Posted& posted, std::size_t steps);

/// Returns what a rank that came so far posted as call `run`.
Posted posted_at(const Reach& reach, std::uint32_t run);

/// Puts a call and the calls before it into a message.
void put(Encoder& body, const Posted& posted);
/// Takes them out again. body.complete() tells if the bytes were wrong.
Posted get_posted(Decoder& body);

/// Returns a message that holds one call and the calls before it.
std::vector<std::byte> encode(const Posted& posted);
/// Reads such a message. Returns nothing if the bytes are not well-formed.
std::optional<Posted> decode_posted(std::span<const std::byte> bytes);

}  // namespace lacuna::runtime
