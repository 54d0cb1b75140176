#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/socket.hpp"
#include "runtime/values/unique_id.hpp"

/// How the ranks of a job find each other if nobody has named a store: rank 0 opens a door, and the others get an
/// invitation to it.
namespace lacuna::runtime {

/// What a unique id says.
struct Invitation {
  std::vector<std::string> hosts{};  ///< addresses of rank 0's host, where others reach it
  std::uint16_t port = 0;
  std::uint64_t machine = 0;           ///< Job::machine of rank 0
  std::array<std::byte, 16> secret{};  ///< nobody can guess it

  /// The job's key: the secret, and the users' own key if they have one.
  std::string key(const std::string& users) const;
};

/// The invitation to a door at this address of rank 0's host, without a secret. If the door is at all addresses, the
/// invitation has those of the network devices that work, without those that are valid on one link only.
Invitation invitation_to(const SocketAddress& door, std::uint64_t machine);

/// Addresses beyond the room of an id are left out: 11 of IPv4 fit, or 4 of IPv6.
UniqueId encode(const Invitation& invitation);
/// Returns nothing if the id is none of this version of lacuna.
std::optional<Invitation> decode(const UniqueId& id);

/// Where a process of this machine may find rank 0, in the order in which it should try. Addresses that the process's
/// own host has too are left out, unless it is rank 0's host.
std::vector<SocketAddress> addresses_of(const Invitation& invitation, std::uint64_t machine);

}  // namespace lacuna::runtime
