#include "runtime/communicator/announcement.hpp"

#include <gtest/gtest.h>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {
namespace {

using Kind = Announcement::Kind;

constexpr Rank processes = 9;

Announcement announced_call() {
  Announcement announcement{.kind = Kind::Call,
                            .communicator = 0x123456789abcdef0,
                            .number = 4'000'000'000,
                            .history = 0xfedcba9876543210,
                            .algorithm = "some_algorithm",
                            .method = "some:option=1,other=2"};
  announcement.call = {.collective = Collective::Broadcast,
                       .count = (std::size_t{1} << 40) + 3,
                       .dtype = Dtype::I64,
                       .reduction = Reduction::Max,
                       .root = 8};
  announcement.call.options.priority = Priority::Low;
  announcement.call.options.deadline = std::chrono::milliseconds(86'400'001);
  return announcement;
}

TEST(Announcement, ADeadlineThatNeverPassesArrivesAsSuch) {
  Announcement sent = announced_call();
  sent.call.options.deadline = std::chrono::milliseconds::max();
  const auto come = decode_announcement(encode(sent), processes);
  ASSERT_TRUE(come);
  EXPECT_EQ(come->call.options.deadline, never);
}

TEST(Announcement, ACallArrivesAsItWasSent) {
  const Announcement sent = announced_call();
  const auto come = decode_announcement(encode(sent), processes);
  ASSERT_TRUE(come);
  EXPECT_EQ(come->kind, Kind::Call);
  EXPECT_EQ(come->communicator, sent.communicator);
  EXPECT_EQ(come->number, sent.number);
  EXPECT_EQ(come->history, sent.history);
  EXPECT_EQ(come->algorithm, sent.algorithm);
  EXPECT_EQ(come->method, sent.method);
  EXPECT_EQ(come->call.collective, sent.call.collective);
  EXPECT_EQ(come->call.count, sent.call.count);
  EXPECT_EQ(come->call.dtype, sent.call.dtype);
  EXPECT_EQ(come->call.reduction, sent.call.reduction);
  EXPECT_EQ(come->call.root, sent.call.root);
  EXPECT_EQ(come->call.options.priority, sent.call.options.priority);
  EXPECT_EQ(come->call.options.deadline, sent.call.options.deadline);
  EXPECT_EQ(encode(*come), encode(sent));
}

TEST(Announcement, ACommunicatorHasDifferentMembersOfTheJob) {
  const auto decoded = [](std::vector<Rank> members) {
    return decode_announcement(encode({.kind = Kind::Made, .communicator = 7, .members = std::move(members)}),
                               processes);
  };
  EXPECT_EQ(decoded({3, 0, 8})->members, (std::vector<Rank>{3, 0, 8}));
  for (const std::vector<Rank>& wrong :
       {std::vector<Rank>{}, {1, 1}, {0, 9}, {-1, 0}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 0}}) {
    EXPECT_FALSE(decoded(wrong));
  }
}

TEST(Announcement, CutOrLongerBytesAreRefused) {
  for (const Announcement& announcement : {announced_call(), Announcement{.kind = Kind::Made, .members = {1, 2}},
                                           Announcement{.kind = Kind::Freed}, Announcement{.kind = Kind::Left}}) {
    std::vector<std::byte> bytes = encode(announcement);
    ASSERT_TRUE(decode_announcement(bytes, processes));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_announcement(std::span(bytes).first(length), processes)) << length;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_announcement(bytes, processes));
  }
}

TEST(Announcement, ValuesOutOfTheirRangesAreRefused) {
  const auto refused = [](void (*change)(Announcement&)) {
    Announcement announcement = announced_call();
    change(announcement);
    return !decode_announcement(encode(announcement), processes);
  };
  EXPECT_TRUE(refused([](Announcement& a) { a.kind = static_cast<Kind>(4); }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.collective = static_cast<Collective>(all_collectives.size()); }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.dtype = static_cast<Dtype>(all_dtypes.size()); }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.reduction = static_cast<Reduction>(all_reductions.size()); }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.options.priority = static_cast<Priority>(priorities); }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.root = processes; }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.root = -1; }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.count = std::size_t{1} << 48; }));
  EXPECT_TRUE(refused([](Announcement& a) { a.call.options.deadline = std::chrono::milliseconds(-1); }));
}

}  // namespace
}  // namespace lacuna::runtime
