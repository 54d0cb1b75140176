#include <gtest/gtest.h>

#include "runtime/engine/wire.hpp"
#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using runtime::fragment_charge;

/// How rank 0 sends one message of so many bytes to rank 1, which has not taken anything yet.
struct Sending {
  Sending(const runtime::ExecutorOptions& options, std::size_t bytes) : rank(2, options), data(bytes) {
    const auto posted =
        rank.communicator.post(Send{.data = data.data(), .count = bytes, .dtype = Dtype::U8, .to = 1, .tag = 0});
    EXPECT_TRUE(posted) << posted.status().to_string();
  }
  /// It is empty if nothing was sent.
  std::string way() const {
    if (rank.wire.sent.empty()) return "";
    return rank.wire.sent[0].delivery == Delivery::Eager ? "eager" : "descriptor";
  }

  LoneRank rank;
  std::vector<std::uint8_t> data;
};

TEST(SendLimits, TheLargestEagerMessageIsAsLongAsItsOptionSays) {
  for (const std::size_t limit : {1, 64, 4096, 8192, 20'000}) {
    runtime::ExecutorOptions options = quick_executor();
    options.eager_bytes = limit;
    EXPECT_EQ(Sending(options, limit - 1).way(), "eager");
    EXPECT_EQ(Sending(options, limit).way(), "eager") << limit;
    EXPECT_EQ(Sending(options, limit + 1).way(), "descriptor") << limit;
  }
}

TEST(SendLimits, WithoutAnyOnlyEmptyMessagesAreEager) {
  runtime::ExecutorOptions options = quick_executor();
  options.eager_bytes = 0;
  EXPECT_EQ(Sending(options, 0).way(), "eager");
  EXPECT_EQ(Sending(options, 1).way(), "descriptor");
}

TEST(SendLimits, AMessageMayUseTheLastByteOfTheCredit) {
  for (const std::size_t bytes : {1, 1000, 8191}) {
    runtime::ExecutorOptions options = quick_executor();
    for (const int less : {0, 1}) {
      options.credit_bytes = bytes + fragment_charge - static_cast<std::size_t>(less);
      EXPECT_EQ(Sending(options, bytes).way(), less == 0 ? "eager" : "descriptor") << bytes << " bytes, " << less;
    }
  }
}

TEST(SendLimits, EachFragmentOfAMessageIsCharged) {
  const std::size_t bytes = 3 * 8192 - 1;  // the transport takes 8192 at once
  runtime::ExecutorOptions options = quick_executor();
  options.credit_bytes = bytes + 3 * fragment_charge;
  const Sending fits(options, bytes);
  EXPECT_EQ(fits.way(), "eager");
  EXPECT_EQ(fits.rank.wire.sent.size(), 3u);
  --options.credit_bytes;
  EXPECT_EQ(Sending(options, bytes).way(), "descriptor");
}

TEST(SendLimits, EmptyMessagesOverdrawTheCreditByWhatIsAllowedAndNoMore) {
  runtime::ExecutorOptions options = quick_executor();
  options.credit_bytes = 1;
  LoneRank rank(2, options);
  const std::size_t most = (runtime::empty_allowance + 1) / fragment_charge;
  for (std::size_t i = 0; i <= most; ++i) {
    ASSERT_TRUE(rank.communicator.post(Send{.data = nullptr, .count = 0, .dtype = Dtype::U8, .to = 1, .tag = 0}));
  }
  std::size_t eager = 0;
  for (const auto& one : rank.wire.sent) eager += one.delivery == Delivery::Eager;
  EXPECT_EQ(eager, most);
}

TEST(SendLimits, AsManyMessagesMayBeUnfinishedAsTheOptionSays) {
  runtime::ExecutorOptions options = quick_executor();
  options.max_messages = 3;
  LoneRank rank(2, options);
  std::vector<float> data(4);
  const Receive message{.data = data.data(), .count = 4, .from = 1};
  runtime::Run* first = *rank.communicator.post(message);
  for (int i = 1; i < 3; ++i) ASSERT_TRUE(rank.communicator.post(message));
  EXPECT_EQ(rank.communicator.post(message).status().message(),
            "unfinished messages: 3; at most 3 are allowed (LACUNA_MAX_MESSAGES)");
  rank.arrive(LoneRank::message(0, 0, 16), data, 0, 16);
  ASSERT_TRUE(first->finished);
  EXPECT_TRUE(rank.communicator.post(message)) << "one of them has ended";
  EXPECT_EQ(rank.communicator.post(message).status().code(), Code::Busy);
}

}  // namespace
}  // namespace lacuna::test
