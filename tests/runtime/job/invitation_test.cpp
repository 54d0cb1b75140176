#include "runtime/job/invitation.hpp"

#include <gtest/gtest.h>

#include "runtime/job/door.hpp"
#include "runtime/job/id_text.hpp"
#include "tests/runtime/job/admission_peer.hpp"
#include "tests/runtime/job/board.hpp"
#include "tests/runtime/job/bootstrap_job.hpp"

namespace lacuna::runtime {
namespace {

std::array<std::byte, 16> secret_of(unsigned first) {
  std::array<std::byte, 16> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = std::byte(first + i);
  return secret;
}

TEST(Invitation, IsReadAsItWasWritten) {
  for (const Invitation& one :
       {Invitation{{}, 1, 0, secret_of(0)}, Invitation{{"10.0.0.1"}, 65535, ~std::uint64_t{0}, secret_of(200)},
        Invitation{{"10.0.0.1", "fd00::1", "192.168.7.9"}, 4242, 7, secret_of(1)}}) {
    const UniqueId id = encode(one);
    EXPECT_TRUE(id);
    const auto read = decode(id);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->hosts, one.hosts);
    EXPECT_EQ(read->port, one.port);
    EXPECT_EQ(read->machine, one.machine);
    EXPECT_EQ(read->secret, one.secret);
  }
}

TEST(Invitation, HasTheFirstAddressesThatFit) {
  std::vector<std::string> fours, sixes;
  for (int i = 0; i < 30; ++i) {
    fours.push_back("10.0.0." + std::to_string(i));
    sixes.push_back("fd00::" + std::to_string(i + 1));
  }
  const auto read_fours = decode(encode({fours, 1, 0, secret_of(0)}));
  const auto read_sixes = decode(encode({sixes, 1, 0, secret_of(0)}));
  fours.resize(11);
  sixes.resize(4);
  EXPECT_EQ(read_fours->hosts, fours);
  EXPECT_EQ(read_sixes->hosts, sixes);
}

TEST(Invitation, WhatIsNoneIsRefused) {
  EXPECT_FALSE(UniqueId());
  EXPECT_FALSE(decode(UniqueId()));
  const UniqueId sound = encode({{"10.0.0.1"}, 4242, 7, secret_of(0)});
  UniqueId of_another_version = sound, without_port = sound;
  of_another_version.bytes[3] = std::byte{'2'};
  without_port.bytes[4] = without_port.bytes[5] = std::byte{0};
  EXPECT_FALSE(decode(of_another_version));
  EXPECT_FALSE(decode(without_port));
}

TEST(Invitation, ItsIdTravelsAsText) {
  const UniqueId id = encode({{"10.0.0.1"}, 4242, 7, secret_of(240)});
  const std::string text = text_of(id);
  EXPECT_EQ(text.size(), 256u);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
  UniqueId read;
  ASSERT_TRUE(read_id(text, read));
  EXPECT_EQ(read, id);
  for (std::string wrong : {std::string(), text.substr(1), text + "0", "g" + text.substr(1), " " + text.substr(1)}) {
    EXPECT_FALSE(read_id(wrong, read)) << wrong;
  }
  EXPECT_EQ(read, id);
}

TEST(Invitation, ItsKeyIsTheSecretAndTheUsersOwn) {
  const Invitation a{{}, 1, 0, secret_of(0)}, b{{}, 1, 0, secret_of(1)};
  EXPECT_NE(a.key(""), b.key(""));
  EXPECT_NE(a.key(""), a.key("mine"));
  EXPECT_EQ(a.key("mine"), a.key("") + "mine");
}

TEST(Invitation, OnTheSameMachineLoopbackIsTriedFirst) {
  const Invitation invitation{{"10.1.2.3"}, 4242, 7, secret_of(0)};
  const auto here = addresses_of(invitation, 7), there = addresses_of(invitation, 8);
  ASSERT_FALSE(here.empty());
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(here.front().to_string(), "127.0.0.1:4242");
  EXPECT_EQ(here.back().to_string(), "10.1.2.3:4242");
  EXPECT_EQ(there.front().to_string(), "10.1.2.3:4242");
}

TEST(Invitation, OfADoorEverywhereHasNoAddressThatOthersCannotUse) {
  const auto door = open_door("", 7);
  ASSERT_TRUE(door) << door.status().to_string();
  for (const std::string& host : door->invitation.hosts) {
    EXPECT_FALSE(host.starts_with("127.") || host.starts_with("169.254.") || host == "::1" || host.starts_with("fe80"))
        << host;
  }
}

TEST(Door, AStoreSaysAtWhichAddressItIs) {
  const auto door = open_door("127.0.0.1:0", 7);
  ASSERT_TRUE(door) << door.status().to_string();
  EXPECT_EQ(door->invitation.hosts, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(door->invitation.port, own_address(door->listener).port());
  EXPECT_NE(door->invitation.port, 0);
  expect_contains(open_door("127.0.0.1", 7).status().to_string(), "with a port from 0 to 65535");
  expect_contains(open_door("192.0.2.1:0", 7).status().to_string(), "rank 0 cannot listen at 192.0.2.1:0: ");
}

/// Joins ranks on threads, each by the job that `job_of` gives. Returns what came of each.
std::vector<std::string> join_all(Rank size, const std::function<Job(Rank)>& job_of) {
  std::vector<std::string> outcomes(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back(
        [&, rank] { outcomes[static_cast<std::size_t>(rank)] = outcome(join(job_of(rank), address_of(rank))); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

Job keyless(Rank rank, Rank size) {
  Job mine = job(rank, size, "");
  mine.key.clear();
  mine.machine = 7;
  return mine;
}

TEST(Invitation, BringsTheRanksOfAJobTogetherWithoutAStoreOrAKey) {
  for (const std::string key : {"", "a key of the user's"}) {
    for (const std::string store : {"", "127.0.0.1:0"}) {
      Board board;
      const auto outcomes = join_all(4, [&](Rank rank) {
        Job mine = keyless(rank, 4);
        mine.key = key;
        if (rank == 0) mine.store = store;
        mine.share = board.share_of(rank);
        return mine;
      });
      expect_contains(outcomes[0], "ok ");
      for (const std::string& one : outcomes) EXPECT_EQ(one, outcomes[0]);
    }
  }
}

TEST(Invitation, AUniqueIdBringsTheRanksOfOneJobTogether) {
  const auto id = keep_door("", 7), other = keep_door("", 7);
  ASSERT_TRUE(id && other) << id.status().to_string();
  const auto outcomes = join_all(3, [&](Rank rank) {
    Job mine = keyless(rank, 3);
    mine.id = *id;
    return mine;
  });
  expect_contains(outcomes[0], "ok ");
  for (const std::string& one : outcomes) EXPECT_EQ(one, outcomes[0]);
  Job again = keyless(0, 3);
  again.id = *id;
  expect_contains(join(again).status().to_string(),
                  "invalid argument: rank 0 has a unique id that its process has not");
  EXPECT_TRUE(take_door(*other));
}

TEST(Invitation, AnotherKeyOfTheUsersIsRefused) {
  Board board;
  const auto outcomes = join_all(2, [&](Rank rank) {
    Job mine = keyless(rank, 2);
    mine.key = rank == 0 ? "mine" : "yours";
    mine.timeout = std::chrono::milliseconds(500);
    mine.share = board.share_of(rank);
    return mine;
  });
  expect_contains(outcomes[0], "timed out");
  expect_contains(outcomes[1], "LACUNA_KEY must be equal on all ranks");
}

/// Changes the addresses of the id that the ranks share, as a host sees them that reaches others by them.
Share with_hosts(const Share& share, const std::vector<std::string>& hosts) {
  return [=](UniqueId& id, const Deadline& deadline) {
    const Status shared = share(id, deadline);
    Invitation invitation = *decode(id);
    invitation.hosts = hosts;
    id = encode(invitation);
    return shared;
  };
}

TEST(Invitation, SomebodyElseAtAnAddressIsPassedOver) {
  const test::ReservedPort port;
  const Result<Fd> mute = listen_at(*resolve({"127.0.0.1", port.number()}));  // accepts and says nothing
  const Result<Fd> other = listen_at(*resolve({"127.0.0.2", port.number()}));
  ASSERT_TRUE(mute && other) << mute.status().to_string() << other.status().to_string();
  std::thread stranger([&] {
    ASSERT_TRUE(wait_for(other->get(), POLLIN, Clock::now() + std::chrono::seconds(20)));
    const Fd visitor = accept_from(*other);
    EXPECT_EQ(::write(visitor.get(), "HTTP/1.1 400\r\n\r\n", 16), 16);
  });
  Board board;
  const auto outcomes = join_all(2, [&](Rank rank) {
    Job mine = keyless(rank, 2);
    mine.machine = 7 + static_cast<std::uint64_t>(rank);
    mine.store = "127.0.0.4:" + std::to_string(port.number());
    mine.share = board.share_of(rank);
    if (rank > 0) mine.share = with_hosts(mine.share, {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"});
    return mine;
  });
  expect_contains(outcomes[0], "ok ");
  EXPECT_EQ(outcomes[1], outcomes[0]);
  stranger.join();
}

TEST(Invitation, WhatCantBeSharedOrIsNoneEndsTheJoining) {
  Job mine = keyless(1, 2);
  mine.share = [](UniqueId&, const Deadline&) { return Status(Code::Transport, "the launcher is gone"); };
  EXPECT_EQ(join(mine).status().to_string(), "transport error: the launcher is gone");
  mine.share = [](UniqueId& id, const Deadline&) {
    id.bytes.fill(std::byte{7});
    return Status();
  };
  EXPECT_EQ(join(mine).status().to_string(),
            "mismatch: what rank 0 has shared is no unique id of this version of lacuna");
  Board board;
  mine = keyless(0, 2);
  mine.store = "192.0.2.1:0";
  mine.share = board.share_of(0);
  expect_contains(join(mine).status().to_string(), "rank 0 cannot listen at 192.0.2.1:0");
  mine = keyless(1, 2);
  mine.share = board.share_of(1);
  EXPECT_EQ(join(mine).status().to_string(), "peer failed: rank 0 can't join; its own error says why");
}

TEST(Sharing, HappensOnceWhateverComesOfARank) {
  int calls = 0;
  UniqueId last;
  const auto count = [&](UniqueId& id, const Deadline&) {
    ++calls;
    last = id;
    return Status();
  };
  {
    last.bytes.fill(std::byte{1});
    const Sharing unused{Share(count)};
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(last, UniqueId());
  {
    Sharing used{Share(count)};
    ASSERT_TRUE(used.is_possible());
    UniqueId id;
    id.bytes.fill(std::byte{2});
    EXPECT_TRUE(used.once()(id, Clock::now()));
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(last.bytes[0], std::byte{2});
  EXPECT_FALSE(Sharing().is_possible());
}

}  // namespace
}  // namespace lacuna::runtime
