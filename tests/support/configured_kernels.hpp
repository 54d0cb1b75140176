#pragma once

#include "kernels/backend.hpp"

namespace lacuna::test {

/// The kernels that LACUNA_KERNELS names: what is tested. Throws std::runtime_error if they can't be had.
const kernels::Backend& configured_kernels();

}  // namespace lacuna::test
