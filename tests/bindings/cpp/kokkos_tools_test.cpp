#include <gtest/gtest.h>

#include "tests/processes/executed.hpp"

namespace lacuna {
namespace {

/// Returns what the program and the tool of Kokkos in it print.
std::string output_of(const std::string& when, bool with_tool) {
  test::Environment environment;
  if (with_tool) {
    environment = {{"KOKKOS_PROFILE_LIBRARY", LACUNA_KOKKOS_TOOL}, {"KOKKOS_TOOLS_LIBS", LACUNA_KOKKOS_TOOL}};
  }
  test::Executed program({LACUNA_KOKKOS_PROGRAM, when}, environment);
  EXPECT_EQ(program.wait(), 0) << program.output();
  const std::string all = program.output();
  const std::size_t begin = all.find("= blocking");  // Kokkos writes about itself before it
  return begin == std::string::npos ? all : all.substr(begin);
}

const std::string silence = "= blocking\n= two at a time\n= a message\n= end\nwell\n";
const std::string everything =
    "= blocking\n"
    "create 0 lacuna allreduce ring\nstart 0\n"
    "push lacuna allreduce ring\nstop 0\ndestroy 0\npop\n"
    "= two at a time\n"
    "create 1 lacuna allreduce ring\nstart 1\n"
    "create 2 lacuna broadcast tree\nstart 2\n"
    "stop 2\ndestroy 2\n"
    "push lacuna allreduce ring\nstop 1\ndestroy 1\npop\n"
    "= a message\n"
    "create 3 lacuna send\nstart 3\n"
    "create 4 lacuna receive\nstart 4\n"
    "push lacuna receive\nstop 4\ndestroy 4\npop\n"
    "stop 3\ndestroy 3\n"
    "= end\nwell\n";

TEST(KokkosTools, CallsAreSectionsAndWaitsAreRegions) {
  const std::string output = output_of("before", true);
  EXPECT_EQ(output, everything);
}

TEST(KokkosTools, AKokkosThatIsInitialisedLaterIsNoticed) {
  EXPECT_EQ(output_of("after", true), output_of("before", true));
}

TEST(KokkosTools, WithoutAToolOrWithoutKokkosNothingIsSaid) {
  EXPECT_EQ(output_of("before", false), silence);
  EXPECT_EQ(output_of("never", true), silence);
  EXPECT_EQ(output_of("never", false), silence);
}

}  // namespace
}  // namespace lacuna
