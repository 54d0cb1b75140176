#pragma once

#include <chrono>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Storms of new operations and new halves, one after the other, for `time`. Between two storms each rank looks at what
/// its process holds, and prints it sixty times. Status: the first storm that failed, or what has grown since the first
/// tenth of the time. `leak`: keeps memory and descriptors, which must be noticed.
Status run_soak(Communicator& world, std::chrono::seconds time, bool leak);

}  // namespace lacuna::test
