#pragma once

#include "kernels/backend.hpp"

namespace lacuna::kernels {

/// A backend, or what is wrong. The library owns what both point to, and keeps it until the process ends.
struct OpenedBackend {
  const Backend* backend = nullptr;
  const char* problem = nullptr;  ///< says in a few words why there is no backend
};

/// The one function that each library of kernels for the host exports. The core asks it for its backend, and says which
/// version the core has. The library of the Kokkos backend initialises Kokkos if nobody has done so. Thread rule: any
/// thread.
using BackendEntry = OpenedBackend(const char* core_version);
inline constexpr const char* backend_entry_name = "lacuna_kernels";

}  // namespace lacuna::kernels

extern "C" __attribute__((visibility("default"))) lacuna::kernels::BackendEntry lacuna_kernels;
