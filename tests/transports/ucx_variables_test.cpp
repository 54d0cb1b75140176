#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "tests/support/process.hpp"
#include "tests/support/refused_calls.hpp"
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

TEST(UcxVariables, LeaveTheSignalOfAClosedTerminalToTheProgram) {
  ASSERT_TRUE(make_ucx({}));
  struct sigaction action {};
  ASSERT_EQ(::sigaction(SIGHUP, nullptr, &action), 0);
  EXPECT_TRUE(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) << "UCX has caught it";
}

/// Says how UCX starts without TCP once the system refuses this call. No output of UCX tells of errors.
std::string started_without(long call, int error) {
  Process alone([&](const Process::Say& say) {
    ::unsetenv("UCX_TLS");
    if (!refuse_call(call, error)) return say("no filters of system calls");
    const auto transport = make_ucx({.on_one_host = true, .shares_memory = true});
    say(transport ? "it starts" : transport.status().to_string());
  });
  return alone.line();
}

TEST(UcxVariables, UcxStartsWithoutAKindOfSharedMemoryThatIsRefused) {
  EXPECT_EQ(started_without(SYS_shmget, ENOSPC), "it starts");
  EXPECT_EQ(started_without(SYS_shmat, EPERM), "it starts");
}

TEST(UcxVariables, WithoutAnySharedMemoryTheErrorNamesBothKinds) {
  Process alone([&](const Process::Say& say) {
    ::unsetenv("UCX_TLS");
    if (!refuse_call(SYS_shmget, ENOSYS) || !refuse_call(SYS_fallocate, ENOSPC)) return say("no filters");
    const auto transport = make_ucx({.on_one_host = true, .shares_memory = true});
    say(transport ? "it starts" : transport.status().to_string());
  });
  const std::string said = alone.line();
  EXPECT_NE(said.find("no shared memory of SysV (Function not implemented"), std::string::npos) << said;
  EXPECT_NE(said.find("/dev/shm cannot be written (No space left on device)"), std::string::npos) << said;
}

TEST(UcxVariables, AThreadThatIsMissingIsAnError) {
  Process alone([](const Process::Say& say) {
    if (::geteuid() == 0) static_cast<void>(!::setuid(54'321));  // the limit does not hold for root
    const rlimit one{.rlim_cur = 1, .rlim_max = 1};
    ::setrlimit(RLIMIT_NPROC, &one);
    const auto transport = make_ucx({});
    say(transport ? "it starts" : transport.status().to_string());
  });
  const std::string said = alone.line();
  EXPECT_NE(said.find("the system has no thread for UCX"), std::string::npos) << said;
}

TEST(UcxVariables, ProcessesThatShareMemoryHaveNoTcpUnlessTheUserWantsIt) {
  for (const auto& [choice, has_tcp] : {std::pair<const char*, bool>{nullptr, false}, {"tcp,self", true}}) {
    Process alone([&, choice = choice](const Process::Say& say) {
      ::unsetenv("UCX_TLS");
      if (choice) ::setenv("UCX_TLS", choice, 1);
      const UcxOptions options{.on_one_host = true, .shares_memory = true};
      const auto devices = ucx_devices(options);
      if (!devices) return say(devices.status().to_string());
      const auto is_tcp = [](const std::string& device) { return device.starts_with("tcp"); };
      const bool found = std::any_of(devices->begin(), devices->end(), is_tcp);
      // What this process starts may need TCP.
      say(found ? "tcp, because " + why_ucx_listens(options) : std::getenv("UCX_TLS") ? "none for others too" : "none");
    });
    EXPECT_EQ(alone.line(), has_tcp ? "tcp, because UCX_TLS is tcp,self" : "none");
    EXPECT_EQ(alone.wait(), 0);
  }
}

}  // namespace
}  // namespace lacuna::test
