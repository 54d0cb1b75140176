#include "runtime/job/watch_messages.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <string>

namespace lacuna::runtime {
namespace {

/// What one end of a connection gets if the other one sends this.
Frame sent(const std::function<void(Channel& channel)>& send) {
  int ends[2] = {};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  Channel from(Fd(ends[0]), watch_messages::longest_message), to(Fd(ends[1]), watch_messages::longest_message);
  send(from);
  do {
    from.flush();
    EXPECT_TRUE(to.fill());
  } while (from.has_unsent());
  return to.next().value_or(Frame());
}

TEST(WatchMessages, AGoodbyeHoldsTheFirstCommunicatorsOfMoreThanItHasRoomFor) {
  Posted longest{.digest = 1, .text = std::string(400, 'x')};
  longest.before.resize(calls_told - 1, longest);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, most_reaches, most_reaches + 1}) {
    std::vector<Reach> reached(count, {.last = longest});
    for (std::size_t i = 0; i < count; ++i) reached[i].communicator = i;
    const auto read =
        watch_messages::read_goodbye(sent([&](Channel& channel) { watch_messages::send_goodbye(channel, reached); }));
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), std::min(count, most_reaches));
    for (std::size_t i = 0; i < read->size(); ++i) EXPECT_EQ((*read)[i].communicator, i);
  }
}

TEST(WatchMessages, AReportHoldsTheMostMembersTheFirstWaitsAndAsMuchTextAsItHasRoomFor) {
  for (const std::size_t more : {0u, 1u}) {
    Trouble trouble;
    trouble.text = std::string(watch_messages::longest_text + more, 'x');
    trouble.members.resize(watch_messages::most_members);
    trouble.waits.resize(most_waits + more);
    for (std::size_t i = 0; i < trouble.waits.size(); ++i) trouble.waits[i].peer = static_cast<Rank>(i);
    const auto read =
        watch_messages::read_report(sent([&](Channel& channel) { watch_messages::send_report(channel, trouble); }));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->text.size(), watch_messages::longest_text);
    EXPECT_EQ(read->members.size(), watch_messages::most_members);
    ASSERT_EQ(read->waits.size(), most_waits);
    EXPECT_EQ(read->waits.back().peer, static_cast<Rank>(most_waits) - 1);
  }
}

}  // namespace
}  // namespace lacuna::runtime
