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

/// Says which families of devices get variables if UCX_TLS is this. It runs in a new process, because the variables
/// that one transport sets would stay for the next one.
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

/// Says how UCX starts on one host by TCP alone, if UCX_NET_DEVICES is this or is not set.
std::string started_over(const std::string& devices) {
  Process alone([&](const Process::Say& say) {
    ::setenv("UCX_TLS", "tcp", 1);
    ::unsetenv("UCX_NET_DEVICES");
    if (!devices.empty()) ::setenv("UCX_NET_DEVICES", devices.c_str(), 1);
    const auto transport = make_ucx({.on_one_host = true});
    say(transport ? "it starts" : "it does not");
  });
  return alone.line();
}

TEST(UcxVariables, TheDevicesThatTheUserNamesServeAlsoOnOneHost) {
  EXPECT_EQ(started_over(""), "it starts");
  EXPECT_EQ(started_over("lo"), "it starts");
  EXPECT_EQ(started_over("nothing0"), "it does not");
}

}  // namespace
}  // namespace lacuna::test
