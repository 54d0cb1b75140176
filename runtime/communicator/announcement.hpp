#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/values/call.hpp"

namespace lacuna::runtime {

/// What a rank tells each aggregator of the job. The first rank of a communicator speaks for it. Its announcements
/// arrive in the order in which it has made them.
struct Announcement {
  enum class Kind : std::uint8_t {
    Made,   ///< there is a communicator of these members; the aggregator confirms that it knows it
    Call,   ///< its ranks make this call, in which the aggregators take part
    Freed,  ///< it will make no further call
    Left,   ///< the sender leaves the job, and announces nothing more
  };

  Kind kind = Kind::Left;
  std::uint64_t communicator = 0;  ///< its id
  std::vector<Rank> members{};     ///< the process of each rank
  // A call
  std::uint32_t number = 0;
  std::uint64_t history = 0;  ///< stands for the calls before it, as RunTable::history() says
  std::string algorithm{};    ///< the name with which it serves the method
  std::string method{};       ///< MethodOptions::text()
  bool lists_output = false;  ///< the output is to be a list of entries
  Call call{};                ///< without buffers, and of the options only priority and deadline
};

/// The tag of announcements, on the communicator of all processes.
inline constexpr int announcement_tag = 0;
/// The tag of the empty message by which an aggregator confirms that it knows a communicator.
constexpr int confirmation_tag(std::uint64_t communicator) { return 1 + static_cast<int>(communicator % (1u << 30)); }

std::vector<std::byte> encode(const Announcement& announcement);
/// Returns nothing if the bytes are not well-formed, or if a number in them is out of its range. `processes` is the
/// number of processes of the job.
std::optional<Announcement> decode_announcement(std::span<const std::byte> bytes, Rank processes);

}  // namespace lacuna::runtime
