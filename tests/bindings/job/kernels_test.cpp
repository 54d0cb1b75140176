#include <gtest/gtest.h>

#include <filesystem>

#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using cli::count;

/// A copy of the core, beside which stands no other library unless a test puts one there.
class AloneCore : public testing::Test {
 protected:
  AloneCore() {
    std::filesystem::copy_file(LACUNA_CORE_LIBRARY,
                               folder_ / std::filesystem::path(LACUNA_CORE_LIBRARY).filename().string());
  }

  /// The command with this core, whose kernels are to run by Kokkos.
  cli::Outcome lacuna(const std::vector<std::string>& arguments) const {
    return cli::lacuna(arguments, {{"LACUNA_KERNELS", "kokkos"}, {"LD_LIBRARY_PATH", folder_.path().string()}});
  }

  test::Folder folder_;
};

TEST_F(AloneCore, WithoutTheLibraryOfKokkosAJobIsRefusedWithTheWayToGetIt) {
  const cli::Outcome job = lacuna({"perf", "allreduce", "-b", "8", "-e", "8"});
  EXPECT_NE(job.exit_code, 0);
  EXPECT_EQ(count(job.output,
                  "LACUNA_KERNELS is \"kokkos\": no kernels by kokkos: .*liblacuna_kokkos.so.*allowed: "
                  "host, or kokkos where lacuna was built with LACUNA_KOKKOS=ON"),
            1u)
      << job.output;
}

TEST_F(AloneCore, InfoSaysWhyKokkosCanNotServe) {
  const cli::Outcome info = lacuna({"info"});
  EXPECT_EQ(info.exit_code, 0);
  EXPECT_EQ(count(info.output, "\nkernels: no kernels by kokkos: "), 1u) << info.output;
}

TEST_F(AloneCore, ALibraryOfThatNameThatIsNoneOfLacunasIsRefused) {
  std::filesystem::copy_file(LACUNA_RECORDED_FILES, folder_ / "liblacuna_kokkos.so");
  EXPECT_EQ(count(lacuna({"info"}).output, "\nkernels: no kernels by kokkos: liblacuna_kokkos.so is of another lacuna"),
            1u);
}

TEST(Kernels, InfoNamesThoseOfTheHostByDefault) {
  EXPECT_EQ(count(cli::lacuna({"info"}).output, "\nkernels: host\n"), 1u);
}

}  // namespace
}  // namespace lacuna
