#include <gtest/gtest.h>

#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna {
namespace {

using cli::count;

/// Returns what a program prints whose kernels run so, with a tool in each Kokkos that it has. The program must end
/// well.
std::string output_of(const std::vector<std::string>& command, const std::string& kernels) {
  test::Executed program(command, {{"LACUNA_KERNELS", kernels},
                                   {"KOKKOS_PROFILE_LIBRARY", LACUNA_KOKKOS_COUNTER},
                                   {"KOKKOS_TOOLS_LIBS", LACUNA_KOKKOS_COUNTER}});
  EXPECT_EQ(program.wait(), 0) << program.output();
  return program.output();
}

int kernels_run(const std::string& output) {
  std::smatch found;
  return std::regex_search(output, found, std::regex("ends after (\\d+) kernels")) ? std::stoi(found[1]) : -1;
}

TEST(KokkosKernels, AnApplicationKeepsTheKokkosThatItHasInitialised) {
  const std::string host = output_of({LACUNA_OWN_KOKKOS}, "host");
  const std::string kokkos = output_of({LACUNA_OWN_KOKKOS}, "kokkos");
  EXPECT_EQ(count(kokkos, "Kokkos begins"), 1u) << kokkos;
  EXPECT_EQ(count(kokkos, "Kokkos ends"), 1u) << kokkos;
  EXPECT_EQ(count(kokkos, "\n1998\n"), 1u) << kokkos;
  EXPECT_GT(kernels_run(kokkos), kernels_run(host)) << "lacuna's kernels run by it too";
}

TEST(KokkosKernels, KokkosEndsWithAProcessThatHasNoneOfItsOwn) {
  const std::vector<std::string> two = {LACUNA_COMMAND, "launch",    "-n", "2",  "--", LACUNA_COMMAND,
                                        "perf",         "allreduce", "-b", "4K", "-e", "4K"};
  const std::string kokkos = output_of(two, "kokkos");
  EXPECT_EQ(count(kokkos, "Kokkos begins"), 2u) << kokkos;
  EXPECT_EQ(count(kokkos, "Kokkos ends after [1-9]"), 2u) << kokkos;
  EXPECT_EQ(count(output_of(two, "host"), "Kokkos"), 0u);
}

TEST(KokkosKernels, AnApplicationMayShowTheSymbolsOfAnotherKokkos) {
  for (const char* kernels : {"host", "kokkos"}) {
    const std::string output = output_of({LACUNA_KOKKOS_STRANGER}, kernels);
    EXPECT_EQ(count(output, "the application's Kokkos"), 0u) << output;
    EXPECT_EQ(count(output, "(^|\n)6\n"), 1u) << output;
  }
}

TEST(KokkosKernels, InfoNamesVersionAndExecutionSpace) {
  const cli::Outcome info = cli::lacuna({"info"}, {{"LACUNA_KERNELS", "kokkos"}});
  EXPECT_EQ(count(info.output, "\nkernels: +kokkos \\d+\\.\\d+\\.\\d+, \\w+\n"), 1u) << info.output;
}

}  // namespace
}  // namespace lacuna
