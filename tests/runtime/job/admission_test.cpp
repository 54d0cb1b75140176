#include "runtime/job/admission.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/runtime/job/admission_peer.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using test::Process;
using test::ReservedPort;

TEST(Admission, GarbageAndSilentConnectionsDoNotDisturbTheJob) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  Channel silent = connect_raw(port);
  Channel scanner = connect_raw(port);
  const std::string_view request = "GET / HTTP/1.1\r\nHost: store\r\n\r\n";
  ASSERT_EQ(::send(scanner.fd(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  Channel chatterer = connect_raw(port);
  chatterer.send(static_cast<std::uint8_t>(admission::Say::Card), std::vector<std::byte>(1000));
  Process other = start(job(1, 2, port.store()));
  expect_contains(other.line(), "ok ");
  expect_contains(first.line(), "ok ");
}

TEST(Admission, ManyStrangersDoNotKeepARankOut) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  std::vector<Channel> strangers;
  for (int i = 0; i < 300; ++i) strangers.push_back(connect_raw(port));
  Process other = start(job(1, 2, port.store()));
  expect_contains(other.line(), "ok ");
}

TEST(Admission, StrangersThatTakeAllDescriptorsDoNotKeepARankOut) {
  const ReservedPort port;
  Process first([&](const Process::Say& say) {
    rlimit descriptors{};
    ::getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = 40;  // so few that rank 0 can't take all strangers that it would allow
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
    say(outcome(join(job(0, 2, port.store()), address_of(0))));
  });
  std::vector<Channel> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(connect_raw(port));
  Process other = start(job(1, 2, port.store()));
  expect_contains(other.line(), "ok ");
  expect_contains(first.line(), "ok ");
}

// This is as if all ranks of a large job start at once, and each takes its time to prove that it holds the key.
TEST(Admission, RanksThatComeTogetherAreAllKept) {
  const ReservedPort port;
  constexpr Rank size = 301;
  Process first = start(job(0, size, port.store()));
  std::vector<Channel> guests;
  std::vector<admission::Nonce> nonces;
  for (Rank rank = 1; rank < size; ++rank) {
    guests.push_back(connect_raw(port));
    const auto hello = admission::read_hello(next_frame(guests.back()));
    ASSERT_TRUE(hello) << "rank " << rank;
    nonces.push_back(hello->nonce);
  }
  for (Rank rank = 1; rank < size; ++rank) {
    const auto i = static_cast<std::size_t>(rank - 1);
    admission::Claim claim{.rank = rank, .size = size};
    claim.proof = *admission::prove("the right key", admission::Speaker::Guest, nonces[i], claim);
    admission::send(guests[i], claim);
    ASSERT_TRUE(admission::read_admitted(next_frame(guests[i]))) << "rank " << rank;
  }
}

/// What a connection is told after the greeting, if anything. Then the connection ends.
std::string told_after_greeting(Channel& channel) {
  const Frame frame = next_frame(channel);
  if (frame.kind == 0) return "(nothing)";
  const auto refused = admission::read_refused(frame);
  return refused ? refused->to_string() : "something else";
}

TEST(Admission, WhyAJobFailsIsToldToThoseThatHoldTheKeyAndToNoStranger) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store(), 3s));
  Channel stranger = connect_raw(port), impostor = connect_raw(port), member = connect_raw(port);
  ASSERT_TRUE(admission::read_hello(next_frame(stranger)));
  ASSERT_TRUE(admission::read_hello(next_frame(impostor)));
  admission::send(impostor, admission::Claim{.rank = 2, .size = 3});
  expect_contains(told_after_greeting(impostor), "wrong key");
  const auto hello = admission::read_hello(next_frame(member));
  ASSERT_TRUE(hello);
  admission::Claim claim{.rank = 1, .size = 3};
  claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
  admission::send(member, claim);
  ASSERT_TRUE(admission::read_admitted(next_frame(member)));
  expect_contains(first.line(), "timed out: ranks 1, 2 did not come");
  expect_contains(told_after_greeting(member), "timed out: ranks 1, 2 did not come");
  first.signal(SIGKILL);
  EXPECT_EQ(told_after_greeting(stranger), "(nothing)");
  EXPECT_EQ(told_after_greeting(impostor), "(nothing)");
}

TEST(Admission, AnotherProtocolVersionIsRefusedByItsNumber) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store(), 2s));
  Channel stranger = connect_raw(port);
  admission::send(stranger, admission::Claim{.version = 99, .rank = 1, .size = 2});
  next_frame(stranger);
  expect_contains(refusal(stranger),
                  fmt::format("mismatch: rank 0 speaks protocol {} and this rank 99", admission::protocol_version));
  expect_contains(first.line(), fmt::format("that speaks protocol 99, not {}", admission::protocol_version));
}

TEST(Admission, AProofMadeForAnotherConnectionIsRefused) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  Channel overheard = connect_raw(port);
  Channel replayer = connect_raw(port);
  const auto hello = admission::read_hello(next_frame(overheard));
  ASSERT_TRUE(hello);
  admission::Claim claim{.rank = 1, .size = 2};
  claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
  next_frame(replayer);
  admission::send(replayer, claim);
  expect_contains(refusal(replayer), "wrong key");
  admission::send(overheard, claim);
  EXPECT_TRUE(admission::read_admitted(next_frame(overheard)));
}

TEST(Admission, ARankOutsideTheJobIsRefused) {
  for (const Rank outside : {-1, 2, 7}) {
    const ReservedPort port;
    Process first = start(job(0, 2, port.store()));
    Channel stranger = connect_raw(port);
    const auto hello = admission::read_hello(next_frame(stranger));
    ASSERT_TRUE(hello);
    admission::Claim claim{.rank = outside, .size = 2};
    claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
    admission::send(stranger, claim);
    const std::string claimed = fmt::format("claimed rank {}", outside);
    expect_contains(refusal(stranger), claimed + "; with size 2 allowed are 0 to 1");
    expect_contains(first.line(), claimed);
  }
}

TEST(Admission, AStoreThatDoesNotHoldTheKeyLearnsNoAddress) {
  const ReservedPort port;
  const Result<Fd> listener = listen_at(*resolve(*parse_endpoint(port.store())));
  ASSERT_TRUE(listener) << listener.status().to_string();
  Process victim = start(job(1, 2, port.store()));
  Channel impostor = accept_raw(*listener);
  admission::send(impostor, admission::Hello{});
  const auto claim = admission::read_claim(next_frame(impostor));
  ASSERT_TRUE(claim);
  admission::send(impostor, claim->proof);  // to send back the guest's own proof must not be enough
  expect_contains(victim.line(), "does not hold this job's key");
  EXPECT_EQ(next_frame(impostor).kind, 0);
}

TEST(Admission, AServiceThatIsNoStoreIsNamedAtOnce) {
  const ReservedPort port;
  const Result<Fd> listener = listen_at(*resolve(*parse_endpoint(port.store())));
  ASSERT_TRUE(listener);
  Process client = start(job(1, 2, port.store()));
  Channel service = accept_raw(*listener);
  const std::string_view greeting = "220 mail.example.org ESMTP ready\r\n";
  ASSERT_GT(::send(service.fd(), greeting.data(), greeting.size(), MSG_NOSIGNAL), 0);
  expect_contains(client.line(), "is not the store of a lacuna job");
}

}  // namespace
}  // namespace lacuna::runtime
