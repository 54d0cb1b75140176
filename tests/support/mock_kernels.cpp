#include "tests/support/mock_kernels.hpp"

#include "kernels/space_backend.hpp"

namespace lacuna::kernels {

std::string_view SpaceBackend::name() const { return "mock"; }

}  // namespace lacuna::kernels

namespace lacuna::test {

const kernels::Backend& mock_kernels() {
  static constinit const kernels::SpaceBackend on_mock;
  return on_mock;
}

}  // namespace lacuna::test
