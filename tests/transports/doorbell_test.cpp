#include "transports/doorbell.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lacuna {
namespace {

bool is_heard(const Doorbell& bell, int milliseconds = 0) {
  pollfd entry{.fd = bell.event_fd(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

TEST(Doorbell, IsHeardUntilItIsSilenced) {
  Doorbell one, other;
  EXPECT_FALSE(is_heard(one));
  ASSERT_TRUE(other.ring(one.address()));
  ASSERT_TRUE(other.ring(one.address()));
  EXPECT_TRUE(is_heard(one));
  EXPECT_FALSE(is_heard(other));
  one.silence();
  EXPECT_FALSE(is_heard(one));
  ASSERT_TRUE(one.ring(one.address())) << "a thread may ring for another one of its process";
  EXPECT_TRUE(is_heard(one));
}

TEST(Doorbell, NeverKeepsWhoRingsWaiting) {
  Doorbell one, other;
  for (int ring = 0; ring < 10'000; ++ring) ASSERT_TRUE(other.ring(one.address())) << ring;
  EXPECT_TRUE(is_heard(one));
  one.silence();
  EXPECT_FALSE(is_heard(one));
}

TEST(Doorbell, SaysWhenNobodyIsThere) {
  Doorbell here;
  Doorbell::Address left;
  {
    const Doorbell other;
    left = other.address();
    EXPECT_TRUE(here.ring(left));
  }
  EXPECT_FALSE(here.ring(left));
  EXPECT_FALSE(here.ring({}));
}

TEST(Doorbell, IsHeardFromAnotherProcess) {
  Doorbell here;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(Doorbell().ring(here.address()) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_heard(here, 1000));
}

}  // namespace
}  // namespace lacuna
