#pragma once

#include <string>

namespace lacuna::cli {

/// What the command was built from, and what it runs on.
struct Versions {
  std::string lacuna;    ///< such as "0.1.0"
  std::string commit;    ///< its first digits, with "-dirty" if files were changed; "unknown" outside of git
  std::string compiler;  ///< such as "GNU 12.2.0"
  std::string build;     ///< CMake's build type
  std::string ucx;       ///< of the library that is loaded
  std::string kokkos;    ///< of the headers
};

Versions versions();

/// Returns what `lacuna --version` prints.
std::string versions_text();

}  // namespace lacuna::cli
