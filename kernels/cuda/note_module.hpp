#pragma once

#include "kernels/cuda/modules.hpp"

/// Each source file that includes this notes its module of kernels. It is included only when a device is compiled for.
namespace lacuna::kernels {
namespace {

__global__ void kernel_of_this_module() {}
[[maybe_unused]] const bool is_noted = note_module(reinterpret_cast<const void*>(&kernel_of_this_module));

}  // namespace
}  // namespace lacuna::kernels
