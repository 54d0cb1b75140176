#pragma once

#include "kernels/backend.hpp"

namespace lacuna::test {

/// The kernels of all mock devices, computed on the host as on a device (kernels::MockSpace). They compute on memory of
/// the host too. Thread rule: any thread.
__attribute__((visibility("default"))) const kernels::Backend& mock_kernels();

}  // namespace lacuna::test
