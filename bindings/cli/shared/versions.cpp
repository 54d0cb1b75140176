#include "bindings/cli/shared/versions.hpp"

#include <fmt/format.h>

#include "lacuna_commit.hpp"  // made by cmake/commit.cmake
#include "runtime/values/version.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {

Versions versions() {
  return {.lacuna = std::string(version()),
          .commit = LACUNA_COMMIT,
          .compiler = LACUNA_COMPILER,
          .build = LACUNA_BUILD_TYPE,
          .ucx = std::string(ucx_version()),
          .kokkos = LACUNA_KOKKOS_VERSION};
}

std::string versions_text() {
  const Versions all = versions();
  return fmt::format("lacuna {}\ncommit {}\ncompiler {}, {}\nUCX {}\nKokkos {}", all.lacuna, all.commit, all.compiler,
                     all.build, all.ucx, all.kokkos);
}

}  // namespace lacuna::cli
