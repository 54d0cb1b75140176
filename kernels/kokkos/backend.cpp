#include <Kokkos_Core.hpp>
#include <string>
#include <string_view>

#include "kernels/entry.hpp"
#include "kernels/kokkos/session.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

constinit const SpaceBackend on_host;

}  // namespace

std::string_view SpaceBackend::name() const { return Space::name(); }

}  // namespace lacuna::kernels

lacuna::kernels::OpenedBackend lacuna_kernels(const char* core_version) {
  using namespace lacuna::kernels;
  if (std::string_view(core_version) != LACUNA_VERSION) return {.problem = "it belongs to lacuna " LACUNA_VERSION};
  static const Session session;
  if (const char* problem = session.problem()) return {.problem = problem};
  return {.backend = &on_host};
}
