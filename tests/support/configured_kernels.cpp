#include "tests/support/configured_kernels.hpp"

#include <stdexcept>

#include "runtime/config/config.hpp"

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

}  // namespace lacuna::test
