#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/socket.hpp"

/// How the ranks of a job find each other if nobody has named a store: rank 0 listens at a free port, and a launcher
/// carries its invitation to the others.
namespace lacuna::runtime {

struct Invitation {
  std::vector<std::string> hosts;  ///< addresses of rank 0's host, without loopback
  std::uint16_t port = 0;
  std::uint64_t machine = 0;  ///< Job::machine of rank 0
  std::string key;            ///< of the job
};

/// Returns a text without blanks. It has letters, digits and the characters ".:,-".
std::string encode(const Invitation& invitation);
std::optional<Invitation> decode_invitation(std::string_view text);

/// The addresses of this host's network devices that are up, as texts, at most eight. Loopback and addresses that are
/// valid on one link only are left out.
std::vector<std::string> addresses_of_host();
/// Where a process of this machine finds rank 0. Addresses that the process's own host has too are left out, unless it
/// is rank 0's host.
std::vector<SocketAddress> addresses_of(const Invitation& invitation, std::uint64_t machine);

}  // namespace lacuna::runtime
