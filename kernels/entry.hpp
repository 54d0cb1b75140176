#pragma once

#include "kernels/backend.hpp"
#include "runtime/values/call.hpp"

namespace lacuna::kernels {

/// A backend for the life of the process, or what is wrong; what both point to stays the library's.
struct OpenedBackend {
  const Backend* backend = nullptr;
  const char* problem = nullptr;  ///< a few words, where there is no backend
};

/// The one symbol that each library of kernels exports. The core of this version asks it for what computes on such
/// memory. The library of the Kokkos backend initialises Kokkos if nobody has. Any thread.
using BackendEntry = OpenedBackend(const char* core_version, MemoryKind memory);
inline constexpr const char* backend_entry_name = "lacuna_kernels";

}  // namespace lacuna::kernels

extern "C" __attribute__((visibility("default"))) lacuna::kernels::BackendEntry lacuna_kernels;
