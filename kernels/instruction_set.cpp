#include <string_view>

#include "kernels/entry.hpp"
#include "kernels/space_backend.hpp"

/// The entry of a library that holds the kernels for one instruction set.
namespace lacuna::kernels {
namespace {

constinit const SpaceBackend on_host;

}  // namespace

std::string_view SpaceBackend::name() const { return LACUNA_INSTRUCTION_SET; }

}  // namespace lacuna::kernels

lacuna::kernels::OpenedBackend lacuna_kernels(const char* core_version) {
  if (std::string_view(core_version) != LACUNA_VERSION) return {.problem = "it belongs to lacuna " LACUNA_VERSION};
  return {.backend = &lacuna::kernels::on_host};
}
