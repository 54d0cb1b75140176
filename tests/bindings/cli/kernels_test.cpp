#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/backend.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using cli::count;

/// Returns the name of the kernels that are the default here. The next function returns those that run anywhere.
std::string best() { return std::string((*kernels::backend_named("host"))->name()); }
std::string baseline() {
  const bool has_levels = kernels::kernels_here()[1].name != "kokkos";
  return has_levels ? kernels::kernels_here()[1].name : "host";
}

/// A copy of the core, beside which no other library stands unless a test puts one there.
class AloneCore : public testing::Test {
 protected:
  AloneCore() { std::filesystem::copy_file(LACUNA_CORE_LIBRARY, core_); }

  /// Runs the command with this core, by such kernels. The command's own core is the one that its build names, so this
  /// core is found first.
  cli::Outcome lacuna(const std::vector<std::string>& arguments, const std::string& kernels = "kokkos") const {
    return cli::lacuna(arguments, {{"LACUNA_KERNELS", kernels}, {"LD_PRELOAD", core_.string()}});
  }

  test::Folder folder_;
  std::filesystem::path core_ = folder_ / std::filesystem::path(LACUNA_CORE_LIBRARY).filename().string();
};

TEST_F(AloneCore, WithoutTheLibraryOfKokkosAJobIsRefusedWithTheWayToGetIt) {
  const cli::Outcome job = lacuna({"perf", "allreduce", "-b", "8", "-e", "8"});
  EXPECT_NE(job.exit_code, 0);
  EXPECT_EQ(
      count(job.output,
            "LACUNA_KERNELS is \"kokkos\": no kernels by kokkos: liblacuna_kokkos.so does not lie beside the core "
            "\\(it is built with LACUNA_KOKKOS=ON\\); allowed here: host"),
      1u)
      << job.output;
}

TEST_F(AloneCore, InfoSaysWhyKokkosCanNotServe) {
  const cli::Outcome info = lacuna({"info"});
  EXPECT_EQ(info.exit_code, 0);
  EXPECT_EQ(count(info.output, "\nkernels: +no kernels by kokkos: "), 1u) << info.output;
}

TEST_F(AloneCore, ALibraryOfThatNameThatIsNoneOfLacunasIsRefused) {
  std::filesystem::copy_file(LACUNA_RECORDED_FILES, folder_ / "liblacuna_kokkos.so");
  EXPECT_EQ(count(lacuna({"info"}).output,
                  "\nkernels: +no kernels by kokkos: liblacuna_kokkos.so belongs to another version of lacuna"),
            1u);
}

TEST_F(AloneCore, TheBaselineServesAndALineTellsOfTheBetterKernelsThatAreMissing) {
  if (best() == baseline()) GTEST_SKIP() << "this processor runs the baseline only";
  const cli::Outcome job = lacuna({"perf", "allreduce", "-b", "8", "-e", "8"}, "host");
  EXPECT_EQ(job.exit_code, 0);
  EXPECT_EQ(count(job.output, "warning.*" + baseline() + " serve: no kernels by " + best() + ": liblacuna_kernels_" +
                                  best() + ".so does not lie beside the core; allowed here: host, " + baseline()),
            1u)
      << job.output;
  EXPECT_EQ(count(lacuna({"info"}, "host").output, "\nkernels: +" + baseline() + "\n"), 1u);
}

TEST(Kernels, InfoNamesTheBestThatThisProcessorRunsAndThoseThatItCanChoose) {
  const cli::Outcome info = cli::lacuna({"info"});
  EXPECT_EQ(count(info.output, "\nkernels: +" + best() + "\n"), 1u) << info.output;
  EXPECT_EQ(count(info.output, "\nkernels to choose from: +host.*[, ]" + best() + "[,;\n]"), 1u) << info.output;
}

TEST(Kernels, TheEnvironmentOverrulesTheChoice) {
  for (const kernels::KernelsHere& named : kernels::kernels_here()) {
    if (!named.problem.empty() || named.name == "host" || named.name == "kokkos") continue;
    const cli::Outcome info = cli::lacuna({"info"}, {{"LACUNA_KERNELS", named.name}});
    EXPECT_EQ(count(info.output, "\nkernels: +" + named.name + "\n"), 1u) << info.output;
  }
}

TEST(Kernels, AJobIsRefusedThatAsksForAnInstructionSetThatThisProcessorDoesNotRun) {
  for (const kernels::KernelsHere& named : kernels::kernels_here()) {
    if (named.problem.empty() || named.name == "kokkos") continue;
    const cli::Outcome job = cli::lacuna({"perf", "allreduce", "-b", "8", "-e", "8"}, {{"LACUNA_KERNELS", named.name}});
    EXPECT_NE(job.exit_code, 0);
    EXPECT_EQ(count(job.output, "LACUNA_KERNELS is \"" + named.name + "\": no kernels by " + named.name +
                                    ": this processor does not run them; allowed here: host, " + baseline()),
              1u)
        << job.output;
  }
}

}  // namespace
}  // namespace lacuna
