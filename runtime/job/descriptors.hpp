#pragma once

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Returns ok if this process may open as many more file descriptors as a rank of a job of this size needs. If not, the
/// error is InvalidArgument and tells the number. It is called before UCX starts, because UCX ends the process when it
/// gets no descriptor. A warning in the log says if the limit is too low for all ranks to talk to each other over TCP.
Status check_descriptors(Rank rank, Rank size);

}  // namespace lacuna::runtime
