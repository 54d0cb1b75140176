// Runs for short_ring what lacuna's own tests run for each of its methods. A plugin of yours needs the same lines.
#include <lacuna/conformance_gtest.hpp>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lacuna::conformance::add_tests_of_plugin(SHORT_RING);
  return RUN_ALL_TESTS();
}
