#include "runtime/job/invitation.hpp"

#include <gtest/gtest.h>

#include <future>

#include "tests/runtime/job/bootstrap_job.hpp"

namespace lacuna::runtime {
namespace {

TEST(Invitation, IsReadAsItWasWritten) {
  for (const Invitation& one :
       {Invitation{{}, 1, 0, ""}, Invitation{{"10.0.0.1"}, 65535, ~std::uint64_t{0}, "a key: \n=-,"},
        Invitation{{"10.0.0.1", "fd00::1", "192.168.7.9"}, 4242, 7, std::string(32, '\0')}}) {
    const std::string text = encode(one);
    EXPECT_EQ(text.find_first_of(" \n=;"), std::string::npos) << text;
    const auto read = decode_invitation(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->hosts, one.hosts);
    EXPECT_EQ(read->port, one.port);
    EXPECT_EQ(read->machine, one.machine);
    EXPECT_EQ(read->key, one.key);
  }
}

TEST(Invitation, WhatIsNoneIsRefused) {
  const std::string text = encode({{"10.0.0.1"}, 4242, 7, "key"});
  const std::size_t last = text.rfind('-');
  for (std::size_t length = 0; length < last; ++length)
    EXPECT_FALSE(decode_invitation(text.substr(0, length))) << length;
  for (const char* wrong : {"", "lacuna-0-1-1-aa-", "lacuna-1-0-1-aa-", "lacuna-1-65536-1-aa-", "lacuna-1-1-x-aa-",
                            "lacuna-1-1-1-a-", "lacuna-1-1-1-ag-", "lacuna-1-1--aa-"}) {
    EXPECT_FALSE(decode_invitation(wrong)) << wrong;
  }
}

TEST(Invitation, OnTheSameMachineLoopbackIsTriedFirst) {
  const Invitation invitation{{"10.1.2.3"}, 4242, 7, "key"};
  const auto here = addresses_of(invitation, 7), there = addresses_of(invitation, 8);
  ASSERT_FALSE(here.empty());
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(here.front().to_string(), "127.0.0.1:4242");
  EXPECT_EQ(here.back().to_string(), "10.1.2.3:4242");
  EXPECT_EQ(there.front().to_string(), "10.1.2.3:4242");
}

/// What the ranks of a job share: the text of rank 0.
struct Board {
  std::promise<std::string> promise;
  std::shared_future<std::string> text{promise.get_future()};

  Share share_of(Rank rank) {
    return [this, rank](const std::string& own) -> Result<std::string> {
      if (rank == 0) promise.set_value(own);
      return text.get();
    };
  }
};

TEST(Invitation, BringsTheRanksOfAJobTogetherWithoutAStoreOrAKey) {
  for (const std::string key : {"", "a key of the user's"}) {
    Board board;
    std::vector<std::string> outcomes(4);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        Job mine = job(rank, 4, "");
        mine.key = key;
        mine.machine = 7;
        mine.share = board.share_of(rank);
        outcomes[static_cast<std::size_t>(rank)] = outcome(join(mine, address_of(rank)));
      });
    }
    for (std::thread& thread : threads) thread.join();
    expect_contains(outcomes[0], "ok ");
    for (const std::string& one : outcomes) EXPECT_EQ(one, outcomes[0]);
    EXPECT_EQ(decode_invitation(board.text.get())->key.size(), key.empty() ? 64 : key.size());
  }
}

TEST(Invitation, WhatCantBeSharedOrIsNoneEndsTheJoining) {
  Job mine = job(1, 2, "");
  mine.share = [](const std::string&) -> Result<std::string> {
    return Status(Code::Transport, "the launcher is gone");
  };
  EXPECT_EQ(join(mine).status().to_string(), "transport error: the launcher is gone");
  mine.share = [](const std::string&) -> Result<std::string> { return std::string("hello"); };
  EXPECT_EQ(join(mine).status().to_string(),
            "mismatch: the launcher carries no invitation of a lacuna job of this version");
  Board board;
  mine.rank = 0;
  mine.key = std::string(600, 'k');
  mine.share = board.share_of(0);
  expect_contains(join(mine).status().to_string(), "LACUNA_KEY has 600 bytes, which no launcher carries");
  mine.rank = 1;
  mine.share = board.share_of(1);
  EXPECT_EQ(join(mine).status().to_string(), "peer failed: rank 0 can't join, as its own error says");
}

}  // namespace
}  // namespace lacuna::runtime
