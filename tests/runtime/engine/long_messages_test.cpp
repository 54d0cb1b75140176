#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <set>

#include "runtime/communicator/check_call.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/forwarding_transport.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

/// Counts the descriptors whose bytes wait at the sender. It can keep them from the other rank.
class CountingTransport final : public ForwardingTransport, private Receiver {
 public:
  struct Tally {
    bool delivers = true;
    std::set<Token> waiting{};
    std::size_t most = 0;  ///< the most descriptors that waited at the same time
  };

  CountingTransport(std::unique_ptr<Transport> inner, Tally& tally)
      : ForwardingTransport(std::move(inner)), tally_(tally) {}

  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override {
    receiver_ = &receiver;
    return inner_->connect(std::move(addresses), *this);
  }
  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override {
    if (delivery == Delivery::Descriptor) tally_.waiting.insert(token);
    tally_.most = std::max(tally_.most, tally_.waiting.size());
    if (!tally_.delivers) return Started::Pending;
    const Started started = ForwardingTransport::send(to, header, bytes, delivery, token);
    if (started == Started::Done) tally_.waiting.erase(token);
    return started;
  }

 private:
  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override {
    receiver_->on_message(from, header, bytes);
  }
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override {
    receiver_->on_descriptor(from, header, descriptor);
  }
  void on_complete(Token token, const Status& status) override {
    tally_.waiting.erase(token);
    receiver_->on_complete(token, status);
  }
  void on_peer_failure(Peer peer, const Status& status) override { receiver_->on_peer_failure(peer, status); }

  Tally& tally_;
  Receiver* receiver_ = nullptr;
};

/// Two ranks. Rank 0 sends through a CountingTransport.
RanksOptions counted(CountingTransport::Tally& tally) {
  RanksOptions options{.executor = quick_executor()};
  options.wrap = [&](Rank rank, std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
    if (rank == 1) return transport;
    return std::make_unique<CountingTransport>(std::move(transport), tally);
  };
  return options;
}

constexpr std::size_t most_waiting = runtime::most_ranges_waiting(runtime::ExecutorOptions().window_bytes);

TEST(LongMessages, CostTheSenderNoMoreMemoryThanAFewRangesHoweverLongTheyAre) {
  CountingTransport::Tally tally{.delivers = false};
  Ranks ranks(2, counted(tally));
  const std::byte nothing_is_read{};
  const Send message{.data = &nothing_is_read, .count = std::size_t{100} << 30, .dtype = Dtype::U8, .to = 1};
  ASSERT_TRUE(ranks.communicator(0).post(message));
  ranks.sweep_until([] { return false; });
  EXPECT_EQ(tally.most, most_waiting);
}

TEST(LongMessages, ArriveWholeWhileFewRangesWaitAtATime) {
  CountingTransport::Tally tally;
  Ranks ranks(2, counted(tally));
  std::vector<std::uint32_t> sent((most_waiting + 9) * runtime::descriptor_range / 4 + 100);
  std::vector<std::uint32_t> received(sent.size());
  std::iota(sent.begin(), sent.end(), 1u);
  for (const bool receive_first : {true, false}) {
    std::fill(received.begin(), received.end(), 0u);
    const Receive receive{.data = received.data(), .count = received.size(), .dtype = Dtype::I32, .from = 0};
    const Send send{.data = sent.data(), .count = sent.size(), .dtype = Dtype::I32, .to = 1};
    runtime::Run* receives = receive_first ? *ranks.communicator(1).post(receive) : nullptr;
    runtime::Run* sends = *ranks.communicator(0).post(send);
    ranks.sweep_until([] { return false; });
    if (!receives) receives = *ranks.communicator(1).post(receive);
    ASSERT_TRUE(ranks.sweep_until([&] { return sends->finished && receives->finished; }));
    EXPECT_TRUE(sends->status && receives->status);
    EXPECT_TRUE(received == sent);
    EXPECT_EQ(sends->sent, sent.size() * 4);
  }
  EXPECT_LE(tally.most, most_waiting);
  EXPECT_TRUE(tally.waiting.empty());
}

TEST(LongMessages, OneThatNobodyTakesRunsOutOfTime) {
  CountingTransport::Tally tally{.delivers = false};
  Ranks ranks(2, counted(tally));
  const std::byte nothing_is_read{};
  Send message{.data = &nothing_is_read, .count = std::size_t{100} << 30, .dtype = Dtype::U8, .to = 1};
  message.options.deadline = 1ms;
  runtime::Run* run = *ranks.communicator(0).post(message);
  ASSERT_TRUE(ranks.sweep_for(30s, [&] { return run->finished; }));
  EXPECT_EQ(run->status.code(), Code::TimedOut);
}

/// A number of elements of F32, and whether memory can hold so many.
struct Length {
  std::size_t count;
  bool fits;
};
constexpr std::size_t most = PTRDIFF_MAX / sizeof(float);
constexpr Length lengths[] = {{most, true},
                              {most + 1, false},
                              {static_cast<std::size_t>(-1), false},
                              {static_cast<std::size_t>(-5), false},
                              {std::size_t{1} << 62, false},  // the bytes of so many elements are 0 in a size_t
                              {(std::size_t{1} << 62) + 1, false}};

TEST(LongMessages, ThatNoMemoryHoldsAreRefusedWithWhatIsAllowed) {
  Ranks ranks(2);
  float data = 0;
  for (const auto& [count, fits] : lengths) {
    if (fits) {
      EXPECT_TRUE(ranks.communicator(0).post(Receive{.data = &data, .count = count, .from = 1}));
      continue;
    }
    const std::string said =
        fmt::format("{} elements of f32 from address {} on: no memory holds them, at most {} are allowed", count,
                    static_cast<void*>(&data), most);
    const Status sent = ranks.communicator(0).post(Send{.data = &data, .count = count, .to = 1}).status();
    EXPECT_EQ(sent.to_string(), "invalid argument: send of " + said);
    const Status received = ranks.communicator(0).post(Receive{.data = &data, .count = count, .from = 1}).status();
    EXPECT_EQ(received.to_string(), "invalid argument: receive of " + said);
  }
}

TEST(LongMessages, ThatWouldEndBehindTheLastAddressAreRefused) {
  Ranks ranks(2);
  auto* const near_the_end = reinterpret_cast<std::byte*>(UINTPTR_MAX - 100);
  const auto post = [&](std::size_t bytes) {
    return ranks.communicator(0).post(Receive{.data = near_the_end, .count = bytes, .dtype = Dtype::U8, .from = 1});
  };
  EXPECT_TRUE(post(100));
  EXPECT_EQ(post(101).status().code(), Code::InvalidArgument);
}

TEST(LongCalls, ThatNoMemoryHoldsAreRefusedWithWhatIsAllowed) {
  float data = 0;
  Call call{.collective = Collective::Allreduce, .input = &data, .output = &data};
  for (const auto& [count, fits] : lengths) {
    call.count = count;
    const std::string refused = fmt::format(
        "invalid argument: allreduce of {} elements of f32: no memory holds them, at most {} are allowed on 1 rank",
        count, most);
    EXPECT_EQ(runtime::check_call(call, 0, 1).to_string(), fits ? "ok" : refused);
  }
}

TEST(LongCalls, ThatWouldEndBehindTheLastAddressAreRefused) {
  void* const near_the_end = reinterpret_cast<std::byte*>(UINTPTR_MAX - 100);
  float data = 0;
  Call call{.collective = Collective::Broadcast, .input = near_the_end, .output = near_the_end, .count = 25};
  EXPECT_TRUE(runtime::check_call(call, 0, 2));
  ++call.count;
  EXPECT_NE(runtime::check_call(call, 0, 2).message().find("no memory holds the input, 104 bytes from address 0x"),
            std::string_view::npos);
  call.input = &data;
  EXPECT_NE(runtime::check_call(call, 0, 2).message().find("no memory holds the output, 104 bytes from address 0x"),
            std::string_view::npos);
}

TEST(LongCalls, OfMoreEntriesThanMemoryHoldsAreRefused) {
  float data = 0;
  std::uint32_t places = 0;
  std::size_t count = 0;
  Call call{.collective = Collective::Allreduce, .input = &data, .output = &data, .count = 1};
  call.input_entries = {.places = &places, .count = most + 1};
  EXPECT_NE(runtime::check_call(call, 0, 2).message().find("elements of f32: no memory holds them"),
            std::string_view::npos);
  call.input_entries = {};
  call.output_entries = {.places = &places, .room = most + 1, .count = &count};
  EXPECT_NE(runtime::check_call(call, 0, 2).message().find("elements of f32: no memory holds them"),
            std::string_view::npos);
}

}  // namespace
}  // namespace lacuna::test
