#pragma once

#include <gtest/gtest.h>

#include <lacuna/conformance.hpp>
#include <string>

namespace lacuna::conformance {

/// The test of one property of one method.
class MethodTest : public testing::Test {
 public:
  MethodTest(const Method& method, const Property& property) : method_(method), property_(property) {}
  void TestBody() override { EXPECT_EQ(property_.fault(method_), "") << property_.meaning; }

 private:
  const Method& method_;
  const Property& property_;
};

/// Adds the tests Methods.PROPERTY/METHOD. Call it before RUN_ALL_TESTS().
inline void add_tests(const Method& method) {
  for (const Property& property : properties()) {
    const std::string name = std::string(property.name) + "/" + std::string(name_of(method));
    testing::RegisterTest("Methods", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&method, &property]() -> testing::Test* { return new MethodTest(method, property); });
  }
}

/// Adds the tests of all methods that a plugin registers.
inline void add_tests_of_plugin(std::string_view path) {
  for (const Method* method : methods_of_plugin(path)) add_tests(*method);
}

}  // namespace lacuna::conformance
