#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"

namespace lacuna::kernels {

/// The names of the backends of this build: the host's always, Kokkos' where its library was built.
inline std::vector<std::string> backend_names() {
  if (LACUNA_BUILT_KOKKOS) return {"host", "kokkos"};
  return {"host"};
}

/// One of them. Ends the tests if it can't be had.
inline const Backend& backend_to_test(std::string_view name) {
  const auto named = backend_named(name);
  if (!named) ADD_FAILURE() << named.status().to_string();
  return **named;
}

/// Each of them.
inline std::vector<const Backend*> backends_to_test() {
  std::vector<const Backend*> all;
  for (const std::string& name : backend_names()) all.push_back(&backend_to_test(name));
  return all;
}

/// A test for each of them: `class MyKernel : public EachBackend`, with
/// `INSTANTIATE_TEST_SUITE_P(, MyKernel, testing::ValuesIn(backend_names()), name_of_backend)`.
class EachBackend : public testing::TestWithParam<std::string> {
 protected:
  const Backend& backend() const { return backend_to_test(GetParam()); }
};

inline std::string name_of_backend(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace lacuna::kernels
