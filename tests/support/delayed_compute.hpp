#pragma once

#include <memory>

#include "runtime/engine/compute.hpp"

namespace lacuna::test {

/// All compute steps end later than they start, in an order of their own: as on a device. For ExecutorOptions::compute.
std::unique_ptr<runtime::Compute> delayed_compute();

}  // namespace lacuna::test
