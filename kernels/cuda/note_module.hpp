#pragma once

#include "kernels/cuda/modules.hpp"

/// Each source file that includes this header notes its module of kernels. Only builds for a device include it.
namespace lacuna::kernels {
namespace {

__global__ void kernel_of_this_module() {}
[[maybe_unused]] const bool is_noted = note_module(reinterpret_cast<const void*>(&kernel_of_this_module));

}  // namespace
}  // namespace lacuna::kernels
