#pragma once

#include <sys/types.h>

#include <vector>

#include "runtime/job/socket.hpp"

namespace lacuna::runtime {

/// The addresses where a process accepts TCP connections, in the order of its descriptors. The list is empty if this
/// process may not look at it.
std::vector<SocketAddress> listeners_of(pid_t process);

}  // namespace lacuna::runtime
