#include "runtime/job/listeners.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
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
  ASSERT_EQ(listeners.size(), 2u);  // the inherited listener of this process, and its own
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

TEST(Endpoints, AreOnLoopbackIfTheirTextSaysSo) {
  for (const char* store : {"127.0.0.1:29500", "127.8.9.1:29500", "[::1]:29500", "localhost:29500"}) {
    EXPECT_TRUE(is_on_loopback(*parse_endpoint(store))) << store;
  }
  for (const char* store : {"0.0.0.0:29500", "126.0.0.1:29500", "128.0.0.1:29500", "[::]:29500", "[2001:db8::1]:29500",
                            "no.such.host.invalid:1", "127.0.0.1.example.org:1", "localhost.example.org:1"}) {
    EXPECT_FALSE(is_on_loopback(*parse_endpoint(store))) << store;
  }
}

// In Debian's /etc/hosts, the machine's own name has the address 127.0.1.1, which no other machine reaches.
TEST(Listeners, OfAStoreThatIsNotOnLoopbackAreOnAllAddresses) {
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof(name) - 1), 0);
  const test::ReservedPort port;
  const std::string store = name + std::string(":") + std::to_string(port.number());
  if (!resolve(*parse_endpoint(store))) GTEST_SKIP() << name << " has no address";
  const test::Process first = start(job(0, 2, store));
  const auto until = Clock::now() + std::chrono::seconds(10);
  std::string where;
  while (where.empty() && Clock::now() < until) {
    for (const SocketAddress& one : listeners_of(first.pid())) {
      const std::string text = one.to_string();
      if (text.ends_with(std::to_string(port.number()))) where = text.substr(0, text.rfind(':'));
    }
  }
  EXPECT_TRUE(where == "[::]" || where == "0.0.0.0") << where;
}

TEST(Connections, AnAddressThatDoesNotAnswerLeavesTimeToTheNext) {
  const test::ReservedPort first, second;
  const Result<Fd> mute = listen_at(*resolve(*parse_endpoint(first.store())));
  const Result<Fd> open = listen_at(*resolve(*parse_endpoint(second.store())));
  ASSERT_TRUE(mute && open);
  ASSERT_EQ(::listen(mute->get(), 0), 0);  // a client that comes when the queue is full hears nothing
  const auto silent = *resolve(*parse_endpoint(first.store()));
  std::vector<Fd> queue;
  for (bool full = false; !full;) {
    Result<Fd> next = connect_to(silent, Clock::now() + std::chrono::milliseconds(200));
    full = !next;
    if (next) queue.push_back(*std::move(next));
    ASSERT_LT(queue.size(), 100u);
  }
  std::vector<SocketAddress> both = silent;
  both.push_back(resolve(*parse_endpoint(second.store()))->front());
  const Result<Fd> reached = connect_to(both, Clock::now() + std::chrono::seconds(1));
  ASSERT_TRUE(reached) << reached.status().to_string();
  EXPECT_EQ(peer_name(*reached), second.store());
}

}  // namespace
}  // namespace lacuna::runtime
