#pragma once

#include "kernels/backend.hpp"

namespace lacuna::test {

/// The kernels that LACUNA_KERNELS names. Throws std::runtime_error if they can't be had.
const kernels::Backend& configured_kernels();

/// What the tests of kernels test: configured_kernels(). If TEST_MOCK_KERNELS is set, it is mock_kernels(). If not, but
/// TEST_DEVICE names a device, it is that device's kernels, which reach only memory of the device and pinned memory.
const kernels::Backend& kernels_to_test();

}  // namespace lacuna::test
