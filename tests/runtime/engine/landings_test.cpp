#include "runtime/engine/landings.hpp"

#include <gtest/gtest.h>

#include <array>

#include "runtime/engine/matching.hpp"
#include "runtime/engine/run_table.hpp"

namespace lacuna::test {
namespace {

using runtime::Arrival;
using runtime::Landing;
using runtime::MessageHeader;
using runtime::MessageKind;

constexpr std::size_t credit = 4096;

/// The landings of process 0 of a job of three, where messages wait.
struct Waiting {
  runtime::Links links{3, credit};
  runtime::MemoryPools memory;
  std::vector<Descriptor> discards;
  runtime::Landings landings{{.credit_bytes = credit, .most_descriptors = 2}, links, memory, discards};
};

TEST(Landings, ALandingThatIsUsedAgainHasNothingOfItsLastMessage) {
  Waiting here;
  const MessageHeader first{
      .bytes = 192, .run = 7, .index = 5, .digest = 9, .part = 3, .kind = MessageKind::Step, .dtype = Dtype::F32};
  Landing* landing = here.landings.park({.from = 1, .header = first, .bytes = 64, .eager = true});
  ASSERT_TRUE(landing);
  landing->arrived.add(0, 64);
  const std::array<std::byte, 64> bytes{};
  here.landings.keep(*landing, 0, bytes);
  here.landings.keep(*landing, 128, Descriptor{&here, 64});
  here.landings.release(landing);
  EXPECT_EQ(here.discards.size(), 1u);

  const MessageHeader second{
      .bytes = 64, .run = 8, .index = 6, .digest = 10, .part = 4, .kind = MessageKind::Step, .dtype = Dtype::F64};
  const Landing* again = here.landings.park({.from = 2, .header = second, .bytes = 64, .eager = false});
  ASSERT_EQ(again, landing) << "it is not used again, so that this shows nothing";
  EXPECT_EQ(again->source, 2);
  EXPECT_EQ(again->run, 8u);
  EXPECT_EQ(again->part, 4u);
  EXPECT_EQ(again->index, 6u);
  EXPECT_EQ(again->digest, 10u);
  EXPECT_EQ(again->dtype, Dtype::F64);
  EXPECT_EQ(again->bytes, 64u);
  EXPECT_FALSE(again->eager);
  EXPECT_FALSE(again->arrived.all(64));
  EXPECT_FALSE(again->memory);
  EXPECT_TRUE(again->pieces.empty());
  EXPECT_TRUE(again->descriptors.empty());
}

TEST(Landings, TakeOneMessageThatUsesTheLastByteOfTheCreditAndNoneBehindIt) {
  const std::size_t most = credit - runtime::fragment_charge;
  for (const std::size_t bytes : {most - 1, most, most + 1}) {
    Waiting here;
    const MessageHeader header{.bytes = bytes, .kind = MessageKind::Step};
    Landing* landing = here.landings.park({.from = 1, .header = header, .bytes = bytes, .eager = true});
    EXPECT_EQ(landing != nullptr, bytes <= most) << bytes;
    if (landing) here.landings.release(landing);
    EXPECT_EQ(here.landings.in_use(), 0u);
    EXPECT_EQ(here.links[1].parked, 0u);
  }
}

TEST(Landings, KeepAsManyDescriptorsOfAPeerAsItMayHaveUnfinished) {
  Waiting here;
  Landing* landing = here.landings.park({.from = 1, .header = {.bytes = 256}, .bytes = 64, .eager = false});
  EXPECT_TRUE(here.landings.keep(*landing, 0, Descriptor{&here, 64}));
  EXPECT_TRUE(here.landings.keep(*landing, 64, Descriptor{&here, 64}));
  EXPECT_FALSE(here.landings.keep(*landing, 128, Descriptor{&here, 64}));
  here.landings.release(landing);
  landing = here.landings.park({.from = 1, .header = {.bytes = 256}, .bytes = 64, .eager = false});
  EXPECT_TRUE(here.landings.keep(*landing, 0, Descriptor{&here, 64})) << "those that are gone count no longer";
  here.landings.release(landing);
}

runtime::MessageRun receive_of_stream() {
  runtime::MessageRun receive;
  receive.kind = runtime::RunKind::Receive;
  receive.peer = 1;
  receive.tag = 5;
  return receive;
}

/// Receives messages of one stream of process 1, in the order in which they come.
struct Stream {
  Waiting here;
  Group group{3};
  runtime::RunTable runs{0, 16, 16};
  runtime::Matching matching{group, 0, runs, here.landings};

  runtime::Place fragment(std::uint32_t number, std::uint64_t offset, std::uint64_t bytes) {
    MessageHeader header{.bytes = bytes, .run = 5, .digest = number, .kind = MessageKind::Message};
    header.begin_at(offset);
    return matching.place({.from = 1, .header = header, .bytes = 64, .eager = true});
  }
};

TEST(Landings, MessagesThatOvertookOthersComeInOrderAlsoInLandingsThatWereUsedBefore) {
  Stream of;
  for (const std::uint32_t first : {0u, 3u, 6u}) {
    for (const std::uint32_t number : {first + 2, first + 1, first}) {
      const runtime::Place place = of.fragment(number, 0, 64);
      ASSERT_TRUE(place.landing) << number;
      EXPECT_EQ(place.in_turn, number == first) << number;
    }
    EXPECT_FALSE(of.matching.next_met(1, 5)) << "there is no receive";
    for (const std::uint32_t number : {first, first + 1, first + 2}) {
      runtime::MessageRun receive = receive_of_stream();
      Landing* waiting = of.matching.expect(receive);
      ASSERT_TRUE(waiting) << number;
      EXPECT_EQ(waiting->digest, number);
      of.here.landings.release(waiting);
    }
  }
  EXPECT_EQ(of.here.landings.in_use(), 0u);
}

TEST(Landings, WhatArrivesAfterARejectedMessageIsNoDuplicateOfIt) {
  Stream of;
  for (const std::uint32_t call : {1u, 2u}) {
    const MessageHeader header{.bytes = 128, .run = call};
    const runtime::Place place = of.matching.place({.from = 1, .header = header, .bytes = 64, .eager = true});
    EXPECT_TRUE(place.landing);
    EXPECT_FALSE(place.duplicate);
    of.matching.clear();
  }
}

}  // namespace
}  // namespace lacuna::test
