#include "runtime/job/listeners.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/job/bootstrap_job.hpp"

namespace lacuna::runtime {
namespace {

std::vector<std::string> own_listeners() {
  std::vector<std::string> texts;
  for (const SocketAddress& address : listeners_of(::getpid())) texts.push_back(address.to_string());
  return texts;
}

TEST(Listeners, AreThoseOfTheProcess) {
  EXPECT_EQ(own_listeners(), std::vector<std::string>());
  const test::ReservedPort port;
  const Result<Fd> four = listen_at(*resolve(*parse_endpoint(port.store())));
  ASSERT_TRUE(four);
  EXPECT_EQ(own_listeners(), std::vector{port.store()});
  EXPECT_TRUE(listeners_of(::getpid()).front().is_loopback());
  test::Process child([](const test::Process::Say& say) {
    const test::ReservedPort outward;
    const Result<Fd> any = listen_at(*resolve({.host = "0.0.0.0", .port = outward.number()}));
    say(any ? "listening" : any.status().to_string());
    ::pause();
  });
  ASSERT_EQ(child.line(), "listening");
  const auto listeners = listeners_of(child.pid());
  ASSERT_EQ(listeners.size(), 2u);  // ours, inherited, and its own
  EXPECT_TRUE(listeners[0].is_loopback());
  EXPECT_FALSE(listeners[1].is_loopback());
}

TEST(Listeners, HaveAddressesOfBothFamilies) {
  const test::ReservedPort port;
  const Result<Fd> six = listen_at(*resolve({.host = "::1", .port = port.number()}));
  if (!six) GTEST_SKIP() << "no IPv6: " << six.status().to_string();
  EXPECT_EQ(own_listeners(), std::vector{"[::1]:" + std::to_string(port.number())});
  EXPECT_TRUE(listeners_of(::getpid()).front().is_loopback());
}

TEST(Listeners, OfNoProcessAreNone) { EXPECT_TRUE(listeners_of(-1).empty()); }

TEST(Bootstrap, OnlyAStoreOnLoopbackKeepsAJobToOneHost) {
  for (const char* store : {"127.0.0.1:29500", "127.8.9.1:29500", "[::1]:29500", "localhost:29500"}) {
    EXPECT_TRUE(is_on_one_host(store)) << store;
  }
  for (const char* store : {"0.0.0.0:29500", "192.0.2.1:29500", "[2001:db8::1]:29500", "no.such.host.invalid:1", ""}) {
    EXPECT_FALSE(is_on_one_host(store)) << store;
  }
}

}  // namespace
}  // namespace lacuna::runtime
