#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/support/configured_kernels.hpp"

namespace lacuna::kernels {

/// What the tests of one backend compute by. The whole folder runs with each backend.
inline const Backend& backend() { return test::kernels_to_test(); }

/// The names of all backends that this build has and this processor runs. backend_named() takes them.
inline std::vector<std::string> backend_names() {
  const std::vector<KernelsHere> all = kernels_here();
  std::vector<std::string> names;
  for (const KernelsHere& kernels : all) {
    const bool best_of_several = kernels.name == "host" && all[1].name.starts_with("x86-64");
    if (kernels.problem.empty() && !best_of_several) names.push_back(kernels.name);
  }
  return names;
}

/// The backend with this name. The tests end if it can't be used.
inline const Backend& backend_to_test(std::string_view name) {
  const auto named = backend_named(name);
  if (!named) ADD_FAILURE() << named.status().to_string();
  return **named;
}

/// A test for each backend: `class MyKernel : public EachBackend`, with
/// `INSTANTIATE_TEST_SUITE_P(, MyKernel, testing::ValuesIn(backend_names()), name_of_backend)`.
class EachBackend : public testing::TestWithParam<std::string> {
 protected:
  const Backend& backend() const { return backend_to_test(GetParam()); }
};

inline std::string name_of_backend(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace lacuna::kernels
