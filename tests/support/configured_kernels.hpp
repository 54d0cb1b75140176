#pragma once

#include "kernels/backend.hpp"

namespace lacuna::test {

/// The kernels that LACUNA_KERNELS names. Throws std::runtime_error if they can't be had.
const kernels::Backend& configured_kernels();

/// What the tests of kernels test: configured_kernels(), or the kernels of the device that TEST_DEVICE names,
/// which reach only memory of the device and pinned memory.
const kernels::Backend& kernels_to_test();

}  // namespace lacuna::test
