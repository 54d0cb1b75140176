#include <lacuna/conformance_gtest.hpp>

#include "algorithms/registry/registry.hpp"

// What must hold for every method of methods.def: tests/conformance has it.
namespace lacuna::test {
namespace {

[[maybe_unused]] const bool all_are_tested = [] {
  for (const Method* method : all_methods()) conformance::add_tests(*method);
  return true;
}();

}  // namespace
}  // namespace lacuna::test
