#include "runtime/job/channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace lacuna::runtime {
namespace {

TEST(Channel, WhatAnEndThatReadsNothingIsToldIsBoundedAndTheRestArrivesWhole) {
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  constexpr std::size_t length = 100'000, most_sent = 100;
  Channel from(Fd(ends[0]), length), to(Fd(ends[1]), length);
  const std::vector<std::byte> body(length, std::byte{7});
  std::size_t sent = 0, came = 0;
  for (; !from.is_stuffed() && sent < most_sent; ++sent) from.send(1, body);
  EXPECT_TRUE(from.is_stuffed());
  EXPECT_GT(sent * length, Channel::most_unsent);
  from.send(1, body);  // this frame is dropped, like the one before
  while (from.has_unsent()) {
    from.flush();
    ASSERT_TRUE(to.fill());
    for (auto frame = to.next(); frame; frame = to.next(), ++came) EXPECT_EQ(frame->body, body);
  }
  EXPECT_FALSE(to.is_malformed());
  ASSERT_TRUE(to.fill());
  for (auto frame = to.next(); frame; frame = to.next()) ++came;
  EXPECT_EQ(came, sent - 1);
}

}  // namespace
}  // namespace lacuna::runtime
