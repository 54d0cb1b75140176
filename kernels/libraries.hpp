#pragma once

#include <string>
#include <string_view>

#include "runtime/values/status.hpp"

/// The libraries of kernels that lie beside the core. Those elsewhere would belong to another version of lacuna.
namespace lacuna::kernels {

/// Says why no library with this file name can be loaded, without loading it. Empty if it may be.
std::string problem_of_library(std::string_view file);

/// Loads a library, which stays loaded, and returns what it exports under this name. The application sees none of its
/// symbols. `own_first`: the library finds its own symbols, for instance those of its own Kokkos, before those of the
/// application. An error says in a few words why there is none. Thread rule: any thread.
Result<void*> load_library(std::string_view file, const char* symbol, bool own_first);

}  // namespace lacuna::kernels
