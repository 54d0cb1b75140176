#include "kernels/kokkos/session.hpp"

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <string>

#include "tests/support/process.hpp"

namespace lacuna::kernels {
namespace {

// All tests of this program run with an initialised Kokkos. A session that is made then takes it for the application's.

TEST(Session, LeavesTheKokkosOfTheApplicationAsItIs) {
  test::Process process([](const test::Process::Say& say) {
    std::string text = Kokkos::is_initialized() ? "there, " : "not there, ";
    for (int time = 0; time < 2; ++time) {
      { const Session session; }
      text += Kokkos::is_initialized() ? "as before, " : "ended, ";
    }
    say(text);
  });
  EXPECT_EQ(process.line(), "there, as before, as before, ");
  EXPECT_EQ(process.wait(), 0);
}

TEST(Session, SaysThatTheApplicationHasEndedItsKokkos) {
  test::Process process([](const test::Process::Say& say) {
    const Session session;
    Kokkos::finalize();
    say(session.problem() ? session.problem() : "it serves");
  });
  EXPECT_NE(process.line(), "it serves");
}

}  // namespace
}  // namespace lacuna::kernels
