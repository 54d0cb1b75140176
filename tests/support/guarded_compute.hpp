#pragma once

#include <memory>

#include "runtime/engine/compute.hpp"

namespace lacuna::test {

/// Lets each step see only the memory that it declares, so that any other access ends the process, with a line that
/// names the step. The step works on copies of its regions. A copy of a region that it only reads can't be written.
/// Memory that nobody may touch lies around the copies, and the caller's pointers lead to such memory too. A kernel's
/// own code sees the regions that are declared to lie in the host's memory. Functions of its backend see the regions
/// that lie where the call's data lie. Functions that are made for control tables see both. It is for
/// ExecutorOptions::compute, in tests that run in one thread.
std::unique_ptr<runtime::Compute> guarded_compute();

}  // namespace lacuna::test
