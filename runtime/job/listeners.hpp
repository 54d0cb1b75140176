#pragma once

#include <sys/types.h>

#include <vector>

#include "runtime/job/socket.hpp"

namespace lacuna::runtime {

/// Where a process accepts TCP connections, in the order of its descriptors; nothing of a process that may not be read.
std::vector<SocketAddress> listeners_of(pid_t process);

}  // namespace lacuna::runtime
