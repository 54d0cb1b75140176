#include <gtest/gtest.h>
#include <sys/socket.h>

#include "runtime/job/admission.hpp"
#include "tests/runtime/job/admission_peer.hpp"

namespace lacuna::runtime {
namespace {

using test::Process;
using test::ReservedPort;

/// A rank that the test plays. It has proved that it holds the key.
struct Guest {
  Guest(const ReservedPort& port, Rank rank, Rank size) : channel(connect_raw(port)) {
    const auto hello = admission::read_hello(next_frame(channel));
    if (!hello) return;
    claim = {.rank = rank, .size = size};
    claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
    admission::send(channel, claim);
    admitted = admission::read_admitted(next_frame(channel)).has_value();
  }

  Channel channel;
  admission::Claim claim;
  bool admitted = false;
};

admission::Card card(std::string host = "host1") {
  return {.host = std::move(host), .machine = 1, .left = std::chrono::seconds(10)};
}

/// Rank 0, and two guests that have sent their cards. The first guest has got the roster.
struct ThreeRanks {
  ThreeRanks() {
    EXPECT_TRUE(guest.admitted && other.admitted);
    for (Guest* one : {&guest, &other}) admission::send(one->channel, card());
    EXPECT_TRUE(admission::read_roster(next_frame(guest.channel), 3));
  }

  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Guest guest{port, 1, 3}, other{port, 2, 3};
};

TEST(AdmissionDoubled, ASecondCardOfARankFailsTheJobByItsName) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Guest guest(port, 1, 3);
  ASSERT_TRUE(guest.admitted);
  admission::send(guest.channel, card());
  admission::send(guest.channel, card("another"));
  expect_contains(first.line(), "rank 1 at 127.0.0.1:");
}

TEST(AdmissionDoubled, ASecondClaimOfARankThatIsAdmittedFailsTheJobByItsName) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Guest guest(port, 1, 3);
  ASSERT_TRUE(guest.admitted);
  admission::send(guest.channel, guest.claim);
  expect_contains(first.line(), "rank 1 at 127.0.0.1:");
}

TEST(AdmissionDoubled, AConnectionIsOneRank) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Guest guest(port, 1, 3);
  ASSERT_TRUE(guest.admitted);
  guest.claim.rank = 2;
  admission::send(guest.channel, guest.claim);
  expect_contains(first.line(), "rank 1 at 127.0.0.1:");
}

TEST(AdmissionDoubled, WhatARankSaysAfterItsCardFailsTheJob) {
  for (const admission::Say said : {admission::Say::Hello, admission::Say::Admitted, admission::Say::Table}) {
    const ReservedPort port;
    Process first = start(job(0, 3, port.store()));
    Guest guest(port, 2, 3);
    ASSERT_TRUE(guest.admitted);
    admission::send(guest.channel, card("host2"));
    guest.channel.send(static_cast<std::uint8_t>(said), std::vector<std::byte>(40));
    expect_contains(first.line(), "rank 2 at 127.0.0.1:");
  }
}

TEST(AdmissionDoubled, ASecondAddressOfARankFailsTheJobByItsName) {
  ThreeRanks job;
  for (int i = 0; i < 2; ++i) admission::send(job.guest.channel, admission::Address{bytes_of(1)});
  expect_contains(job.first.line(), "rank 1 at 127.0.0.1:");
}

TEST(AdmissionDoubled, ARankThatDiesBeforeItHasToldItsAddressFailsTheJobByItsName) {
  ThreeRanks job;
  job.guest.channel.close();
  const std::string said = job.first.line();
  expect_contains(said, "peer failed: rank 1 at 127.0.0.1:");
  expect_contains(said, "died while the job came together");
}

TEST(AdmissionDoubled, ACardIsTakenWithItsLongestNameAndNotWithALongerOne) {
  for (const std::size_t length : {admission::longest_host, admission::longest_host + 1}) {
    const ReservedPort port;
    Process first = start(job(0, 2, port.store()));
    Guest guest(port, 1, 2);
    ASSERT_TRUE(guest.admitted);
    admission::send(guest.channel, card(std::string(length, 'h')));
    if (length == admission::longest_host) {
      EXPECT_TRUE(admission::read_roster(next_frame(guest.channel), 2));
      admission::send(guest.channel, admission::Address{bytes_of(1)});
      expect_contains(first.line(), "ok ");
    } else {
      expect_contains(first.line(), "rank 1 at 127.0.0.1:");
    }
  }
}

}  // namespace
}  // namespace lacuna::runtime
