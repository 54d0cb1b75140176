#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "tests/support/process.hpp"
#include "transports/ucx.hpp"

namespace lacuna::test {
namespace {

constexpr std::array variables = {"UCX_SYSV_ERROR_HANDLING", "UCX_POSIX_ERROR_HANDLING", "UCX_TCP_CONN_NB",
                                  "UCX_SELF_SEG_SIZE"};

/// Which families of devices get variables where UCX_TLS is this, in a process of its own: what one transport has set
/// would stay for the next.
std::string families_set_for(const std::string& devices) {
  Process alone([&](const Process::Say& say) {
    for (const char* name : variables) ::unsetenv(name);
    ::setenv("UCX_TLS", devices.c_str(), 1);
    static_cast<void>(make_ucx({}));
    std::string set;
    const std::array families = {"sysv ", "posix ", "tcp ", "self "};
    for (std::size_t i = 0; i < variables.size(); ++i) set += std::getenv(variables[i]) ? families[i] : "";
    say(set);
  });
  return alone.line();
}

TEST(UcxVariables, AreSetForTheDevicesThatUcxMayTakeAndForNoOthers) {
  struct Case {
    std::string devices, families;
  };
  const Case cases[] = {{"all", "sysv posix tcp self "},
                        {"tcp,self", "tcp self "},
                        {"self,tcp", "tcp self "},
                        {"self", "self "},
                        {"posix,self", "posix self "},
                        {"sm,self", "sysv posix self "},
                        {"^tcp", "sysv posix self "},
                        {"^posix", "sysv tcp self "},
                        {"^posix,sysv", "tcp self "},
                        {"^tcp,posix", "sysv self "},
                        {"^sm", "tcp self "},
                        {"^cma", "sysv posix tcp self "}};
  for (const Case& one : cases) EXPECT_EQ(families_set_for(one.devices), one.families) << "UCX_TLS=" << one.devices;
}

}  // namespace
}  // namespace lacuna::test
