#pragma once

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Ok if this process may open as many file descriptors as a rank of a job of this size needs, beside those that are
/// open already; else InvalidArgument with the number, before UCX, which ends the process when it gets none. Warns if
/// the limit suffices only while not all ranks talk to each other over TCP.
Status check_descriptors(Rank rank, Rank size);

}  // namespace lacuna::runtime
