// What becomes of a message's options in C.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <string>

#include "tests/bindings/c/c_given.hpp"

namespace lacuna {
namespace {

using test::Given;
using Clock = std::chrono::steady_clock;

class CMessages : public test::OneCRank {
 protected:
  /// Waits until that many have ended, and returns their outcomes by token. Nothing more may come afterwards.
  std::map<std::uint64_t, lacuna_status> completions(std::size_t wanted) {
    std::map<std::uint64_t, lacuna_status> all;
    const auto until = Clock::now() + std::chrono::seconds(20);
    for (std::size_t idle = 0; (all.size() < wanted || idle < 10) && Clock::now() < until;) {
      std::int32_t found = 0;
      std::uint64_t token = 0;
      lacuna_status outcome = LACUNA_INTERNAL;
      EXPECT_EQ(lacuna_next_completion(rank_, &found, &token, &outcome), LACUNA_OK);
      if (found) {
        EXPECT_TRUE(all.emplace(token, outcome).second) << token << " comes twice";
      } else {
        EXPECT_EQ(lacuna_progress(rank_, nullptr), LACUNA_OK);
        idle += all.size() >= wanted ? 1 : 0;
      }
    }
    return all;
  }

  lacuna_request* receive(Given& given, int32_t tag) {
    lacuna_request* request = nullptr;
    EXPECT_EQ(lacuna_receive(rank_, &given.output, 0, tag, &given.options, nullptr, &request), LACUNA_OK)
        << lacuna_last_error();
    return request;
  }
  lacuna_request* send(Given& given, int32_t tag) {
    lacuna_request* request = nullptr;
    EXPECT_EQ(lacuna_send(rank_, &given.input, 0, tag, &given.options, &request), LACUNA_OK) << lacuna_last_error();
    return request;
  }
};

/// Either end of a message may ask, with any token. Nobody else is told.
TEST_F(CMessages, ThatEndAreToldWithTheirTokensToWhoAskedForIt) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const int32_t asks : {0, 1, -1}) {
    for (const auto& [of_receive, of_send] : {std::pair<std::uint64_t, std::uint64_t>{0, most}, {most - 1, 1}}) {
      Given given;
      given.options.notify = asks;
      given.options.token = of_receive;
      lacuna_request* const receiving = receive(given, 3);
      given.options.token = of_send;
      lacuna_request* const sending = send(given, 3);
      EXPECT_EQ(lacuna_wait(receiving, 20), LACUNA_OK) << lacuna_last_error();
      EXPECT_EQ(lacuna_wait(sending, 20), LACUNA_OK) << lacuna_last_error();
      EXPECT_EQ(given.out, given.in);
      std::map<std::uint64_t, lacuna_status> expected;
      if (asks != 0) expected = {{of_receive, LACUNA_OK}, {of_send, LACUNA_OK}};
      EXPECT_EQ(completions(expected.size()), expected) << "notify is " << asks;
      lacuna_request_free(receiving);
      lacuna_request_free(sending);
    }
  }
}

TEST_F(CMessages, ThatFailAreToldToo) {
  Given given;
  given.options.notify = 1;
  given.options.token = 8;
  given.options.deadline = 0.001;
  lacuna_request* const request = receive(given, 4);
  EXPECT_EQ(completions(1), (std::map<std::uint64_t, lacuna_status>{{8, LACUNA_TIMED_OUT}}));
  lacuna_request_free(request);
}

TEST_F(CMessages, OfAnotherTypeThanWhatIsSentAreCountedInTheirOwnElements) {
  Given given;
  std::array<double, 3> sent{1, 2, 3}, got{};
  lacuna_buffer out = LACUNA_BUFFER_INIT, in = LACUNA_BUFFER_INIT;
  out.data = sent.data();
  in.data = got.data();
  out.count = in.count = sent.size();
  out.dtype = in.dtype = LACUNA_F64;
  ASSERT_EQ(lacuna_send(rank_, &out, 0, 5, nullptr, nullptr), LACUNA_OK);
  std::size_t count = 0;
  EXPECT_EQ(lacuna_sendrecv(rank_, &given.input, 0, &in, 0, 5, nullptr, &count, nullptr), LACUNA_OK);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(lacuna_receive(rank_, &given.output, 0, 5, nullptr, &count, nullptr), LACUNA_OK);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(given.out, given.in);
}

}  // namespace
}  // namespace lacuna
