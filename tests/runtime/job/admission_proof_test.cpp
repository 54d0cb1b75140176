#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <functional>

#include "runtime/job/admission.hpp"
#include "runtime/observe/log.hpp"
#include "tests/runtime/job/admission_peer.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using test::Process;
using test::ReservedPort;

/// From now on the OpenSSL of this process computes no HMAC, but it still gives random numbers.
void refuse_hmac() {
  admission::Nonce nonce;
  ASSERT_TRUE(admission::fill_random(nonce));
  ASSERT_EQ(EVP_set_default_properties(nullptr, "provider=none"), 1);
}

/// Runs start() in a process whose OpenSSL computes no HMAC.
Process start_without_hmac(const Job& job) {
  return Process([=](const Process::Say& say) {
    refuse_hmac();
    say(outcome(join(job, address_of(job.rank))));
  });
}

TEST(AdmissionProof, RankZeroThatCannotProveAdmitsNobody) {
  const ReservedPort port;
  Process first = start_without_hmac(job(0, 2, port.store()));
  Channel stranger = connect_raw(port);
  next_frame(stranger);
  admission::send(stranger, admission::Claim{.rank = 1, .size = 2});  // the proof is all zeros
  expect_contains(refusal(stranger), "internal error: OpenSSL computes no HMAC-SHA256");
  expect_contains(first.line(), "internal error: OpenSSL computes no HMAC-SHA256");
}

TEST(AdmissionProof, ARankThatCannotProveTrustsNoStore) {
  const ReservedPort port;
  const Result<Fd> listener = listen_at(*resolve(*parse_endpoint(port.store())));
  ASSERT_TRUE(listener) << listener.status().to_string();
  Process victim = start_without_hmac(job(1, 2, port.store()));
  Channel impostor = accept_raw(*listener);
  admission::send(impostor, admission::Hello{});
  admission::send(impostor, admission::Proof{});
  expect_contains(victim.line(), "internal error: OpenSSL computes no HMAC-SHA256");
}

TEST(AdmissionProof, OneBitAnywhereMakesAnotherProof) {
  const admission::Claim claim{.rank = 1, .size = 2};
  const admission::Proof right = *admission::prove("key", admission::Speaker::Guest, {}, claim);
  EXPECT_TRUE(admission::matches(right, right));
  for (std::size_t bit = 0; bit < 8 * right.size(); ++bit) {
    admission::Proof wrong = right;
    wrong[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_FALSE(admission::matches(right, wrong)) << "bit " << bit;
  }
}

TEST(AdmissionProof, AProofThatIsWrongInItsLastByteIsRefused) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  Channel stranger = connect_raw(port);
  const auto hello = admission::read_hello(next_frame(stranger));
  ASSERT_TRUE(hello);
  admission::Claim claim{.rank = 1, .size = 2};
  claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
  claim.proof.back() ^= std::byte{1};
  admission::send(stranger, claim);
  expect_contains(refusal(stranger), "wrong key");
}

TEST(AdmissionProof, AProofIsOfKeySpeakerBothNoncesVersionRankAndSize) {
  using admission::Speaker;
  const admission::Nonce store{std::byte{1}};
  const admission::Claim claim{.rank = 1, .size = 3, .nonce = {std::byte{2}}};
  const admission::Proof right = *admission::prove("key", Speaker::Guest, store, claim);
  const auto changed = [&](auto&& change) {
    admission::Claim other = claim;
    change(other);
    return *admission::prove("key", Speaker::Guest, store, other);
  };
  const std::array others = {*admission::prove("kez", Speaker::Guest, store, claim),
                             *admission::prove("key", Speaker::Store, store, claim),
                             *admission::prove("key", Speaker::Guest, {}, claim),
                             changed([](admission::Claim& other) { other.nonce.back() = std::byte{1}; }),
                             changed([](admission::Claim& other) { other.version = 1; }),
                             changed([](admission::Claim& other) { other.rank = 2; }),
                             changed([](admission::Claim& other) { other.size = 2; })};
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_FALSE(admission::matches(right, others[i])) << "change " << i;
}

/// The bytes that send() puts on the wire.
template <class Message>
Frame sent(const Message& message) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  Channel to{Fd(ends[0]), 4096}, from{Fd(ends[1]), 4096};
  if constexpr (std::is_same_v<Message, SharedFrame>) {
    to.send(message);
  } else {
    admission::send(to, message);
  }
  return next_frame(from);
}

TEST(AdmissionProof, MessagesOneByteTooLongOrTooShortAreNone) {
  struct Message {
    std::string name;
    Frame frame;
    std::function<bool(const Frame&)> is_read;
  };
  using namespace admission;
  const std::vector<Message> messages = {
      {"hello", sent(Hello{}), [](const Frame& frame) { return read_hello(frame).has_value(); }},
      {"claim", sent(Claim{}), [](const Frame& frame) { return read_claim(frame).has_value(); }},
      {"admitted", sent(Proof{}), [](const Frame& frame) { return read_admitted(frame).has_value(); }},
      {"refused", sent(Status(Code::Mismatch, "text")), [](const Frame& f) { return read_refused(f).has_value(); }},
      {"card", sent(Card{.host = "here"}), [](const Frame& f) { return !!read_card(f); }},
      {"roster", sent(share(Roster{.hosts = {"here"}, .machines = {1}})),
       [](const Frame& f) { return !!read_roster(f, 1); }},
      {"address", sent(Address{bytes_of(1)}), [](const Frame& f) { return !!read_address(f); }},
      {"table", sent(share(Table{{bytes_of(1)}})), [](const Frame& f) { return !!read_table(f, 1); }},
  };
  for (const Message& message : messages) {
    EXPECT_TRUE(message.is_read(message.frame)) << message.name;
    Frame longer = message.frame, shorter = message.frame;
    longer.body.emplace_back();
    shorter.body.pop_back();
    EXPECT_FALSE(message.is_read(longer)) << message.name;
    EXPECT_FALSE(message.is_read(shorter)) << message.name;
  }
}

TEST(AdmissionProof, AClaimOneByteTooLongIsRefused) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  Channel stranger = connect_raw(port);
  const auto hello = admission::read_hello(next_frame(stranger));
  ASSERT_TRUE(hello);
  admission::Claim claim{.rank = 1, .size = 2};
  claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
  Frame frame = sent(claim);
  frame.body.emplace_back();
  stranger.send(frame.kind, frame.body);
  expect_contains(refusal(stranger), "this is the store of a lacuna job");
}

TEST(AdmissionProof, ASecondRankZeroIsToldApartFromTheFirst) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  Channel second = connect_raw(port);
  const auto hello = admission::read_hello(next_frame(second));
  ASSERT_TRUE(hello);
  admission::Claim claim{.rank = 0, .size = 2};
  claim.proof = *admission::prove("the right key", admission::Speaker::Guest, hello->nonce, claim);
  admission::send(second, claim);
  const std::string text = refusal(second);
  expect_contains(text, "two processes are rank 0: the one that listens at " + port.store() + " and 127.0.0.1:");
  expect_contains(first.line(), text);
}

/// The warnings of rank 0 in a job of two ranks with this key.
std::vector<std::string> warnings_with_key(const std::string& key) {
  const ReservedPort port;
  std::vector<std::string> lines;
  set_log_sink(
      [](LogLevel level, std::string_view text, void* user) {
        if (level == LogLevel::Warning) static_cast<std::vector<std::string>*>(user)->emplace_back(text);
      },
      &lines);
  Job own = job(0, 2, port.store()), other = job(1, 2, port.store());
  own.key = other.key = key;
  std::thread guest([&] { EXPECT_TRUE(join(other, {})); });
  EXPECT_TRUE(join(own, {}));
  guest.join();
  set_log_sink(nullptr, nullptr);
  return lines;
}

TEST(AdmissionProof, AJobWithoutAKeySaysSoOnce) {
  EXPECT_EQ(warnings_with_key("secret"), std::vector<std::string>());
  const std::vector<std::string> lines = warnings_with_key("");
  ASSERT_EQ(lines.size(), 1u);
  expect_contains(lines[0], "the job has no key: any process of this host may join it at 127.0.0.1:");
}

}  // namespace
}  // namespace lacuna::runtime
