#pragma once

#include <memory>

#include "runtime/engine/compute.hpp"

namespace lacuna::test {

/// Makes every computation end later than it starts, in an order of its own, as on a device. It is for
/// ExecutorOptions::compute.
std::unique_ptr<runtime::Compute> delayed_compute();

}  // namespace lacuna::test
