#include "tests/support/mock_kernels.hpp"

#include "kernels/space_backend.hpp"

namespace lacuna::kernels {

std::string_view SpaceBackend::name() const { return "mock"; }

}  // namespace lacuna::kernels

namespace lacuna::test {
namespace {

thread_local DevicePages* computes_with = nullptr;

}  // namespace

const kernels::Backend& mock_kernels() {
  static constinit const kernels::SpaceBackend on_mock;
  return on_mock;
}

ComputeWith::ComputeWith(DevicePages& pages) { computes_with = &pages; }
ComputeWith::~ComputeWith() { computes_with = nullptr; }

OpenPages::OpenPages() { computes_with->open(); }
OpenPages::~OpenPages() { computes_with->close(); }

}  // namespace lacuna::test
