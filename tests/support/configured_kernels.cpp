#include "tests/support/configured_kernels.hpp"

#include <cstdlib>
#include <stdexcept>

#include "kernels/told_backend.hpp"
#include "runtime/config/config.hpp"
#include "tests/support/mock_kernels.hpp"
#include "tests/support/test_device.hpp"

namespace lacuna::test {

const kernels::Backend& configured_kernels() {
  static const kernels::Backend* const configured = [] {
    const auto config = runtime::Config::from_environment();
    if (!config) throw std::runtime_error(config.status().to_string());
    const auto named = kernels::backend_named(config->kernels);
    if (!named) throw std::runtime_error(named.status().to_string());
    return *named;
  }();
  return *configured;
}

const kernels::Backend& kernels_to_test() {
  if (std::getenv("TEST_MOCK_KERNELS")) return mock_kernels();
  if (!std::getenv("TEST_DEVICE")) return configured_kernels();
  static const auto* const on_device = new kernels::ToldBackend(test_device_of(0).device());
  return *on_device;
}

}  // namespace lacuna::test
