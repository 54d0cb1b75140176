#pragma once

#include <memory>

#include "runtime/engine/compute.hpp"

namespace lacuna::test {

/// Each step sees only the memory that it declares, so that any other access ends the process. It works on copies of
/// its regions, of which those that it only reads can't be written. Memory that nobody may touch lies around them, and
/// the caller's pointers lead to such memory too. For ExecutorOptions::compute, of tests that run in one thread.
std::unique_ptr<runtime::Compute> guarded_compute();

}  // namespace lacuna::test
