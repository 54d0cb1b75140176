#pragma once

#include <chrono>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Makes storms of new operations on new halves, one after the other, for `time`. Between two storms each rank looks at
/// what its process holds. It prints that sixty times. Returns the status of the first storm that failed, or what has
/// grown since the first tenth of the time. `leak` leaks memory and descriptors, which must be noticed.
Status run_soak(Communicator& world, std::chrono::seconds time, bool leak);

}  // namespace lacuna::test
