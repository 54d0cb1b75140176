#include "runtime/job/bootstrap.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <thread>

#include "tests/runtime/job/bootstrap_job.hpp"

namespace lacuna::runtime {
namespace {

using namespace std::chrono_literals;
using test::Process;
using test::ReservedPort;

class BootstrapOfSize : public testing::TestWithParam<Rank> {};

TEST_P(BootstrapOfSize, AllRanksLearnAllHostsAndAddressesAndOneNonce) {
  const ReservedPort port;
  std::vector<Process> ranks;
  for (Rank rank = 0; rank < GetParam(); ++rank) ranks.push_back(start(job(rank, GetParam(), port.store())));
  const std::string first = ranks[0].line();
  expect_contains(first, "ok ");
  for (Rank rank = 0; rank < GetParam(); ++rank) expect_contains(first + " ", " host" + std::to_string(rank) + " ");
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) EXPECT_EQ(ranks[rank].line(), first);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BootstrapOfSize, testing::Values(1, 2, 5));

TEST(Bootstrap, TheNonceDiffersBetweenJobs) {
  std::set<std::uint64_t> nonces;
  for (int i = 0; i < 3; ++i) nonces.insert(join(job(0, 1, ""), address_of(0))->nonce);
  EXPECT_EQ(nonces.size(), 3u);
}

TEST(Bootstrap, RanksWaitForALateRankZero) {
  const ReservedPort port;
  Process other = start(job(1, 2, port.store()));
  Process first = start(job(0, 2, port.store()), 300ms);
  const std::string outcome = first.line();
  expect_contains(outcome, "ok ");
  EXPECT_EQ(other.line(), outcome);
}

TEST(Bootstrap, RanksOfOneNameOnOneMachineShareAHost) {
  const ReservedPort port;
  const std::vector<std::pair<std::string, std::uint64_t>> places = {{"a", 1}, {"a", 2}, {"b", 0}, {"a", 1}, {"b", 0}};
  const auto size = static_cast<Rank>(places.size());
  std::vector<Hosts> seen(places.size());
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto i = static_cast<std::size_t>(rank);
      Job mine = job(rank, size, port.store());
      std::tie(mine.host, mine.machine) = places[i];
      if (const auto membership = join(mine, {})) seen[i] = membership->grouping();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Hosts& hosts : seen) EXPECT_EQ(hosts, Hosts(std::vector<Rank>{0, 1, 2, 0, 2}));
}

/// Where the ranks of a job are, and whether they then count as on one host.
struct Places {
  std::string host_of_store;
  std::vector<std::pair<std::string, std::uint64_t>> places;
  bool are_one_host;
};

TEST(Bootstrap, AllRanksAreToldAlikeWhetherTheyAreOnOneHost) {
  const std::vector<Places> cases = {{"127.0.0.1", {{"a", 1}, {"b", 2}, {"c", 0}}, true},
                                     {"localhost", {{"a", 0}, {"b", 0}}, true},
                                     {"0.0.0.0", {{"a", 1}, {"a", 1}, {"a", 1}}, true},
                                     {"0.0.0.0", {{"a", 1}, {"a", 1}, {"a", 2}}, false},
                                     {"0.0.0.0", {{"a", 1}, {"b", 1}}, false},
                                     {"0.0.0.0", {{"a", 0}, {"a", 0}}, false}};
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const auto& [host, places, are_one_host] = cases[number];
    const ReservedPort port;
    std::vector<std::string> told(places.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < places.size(); ++i) {
      threads.emplace_back([&, i] {
        Job mine =
            job(static_cast<Rank>(i), static_cast<Rank>(places.size()), host + ":" + std::to_string(port.number()));
        std::tie(mine.host, mine.machine) = places[i];
        const auto membership = join(mine, [&](const Gathering& gathering) {
          told[i] = gathering.on_one_host ? "one" : "several";
          return std::vector<std::byte>();
        });
        ASSERT_TRUE(membership) << membership.status().to_string();
        EXPECT_EQ(membership->on_one_host, are_one_host) << "case " << number << " rank " << i;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(told, std::vector<std::string>(places.size(), are_one_host ? "one" : "several")) << "case " << number;
  }
}

TEST(Bootstrap, ARankThatCannotMakeItsAddressEndsTheJobOnAllRanksAtOnce) {
  for (const Rank broken : {0, 2}) {
    const ReservedPort port;
    std::vector<Status> ends(4);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        const MakeAddress fails = [](const Gathering&) -> Result<std::vector<std::byte>> {
          return Status(Code::Internal, "no room");
        };
        ends[static_cast<std::size_t>(rank)] =
            join(job(rank, 4, port.store()), rank == broken ? fails : address_of(rank)).status();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (Rank rank = 0; rank < 4; ++rank) {
      const std::string text = ends[static_cast<std::size_t>(rank)].to_string();
      if (rank == broken) {
        EXPECT_EQ(text, "internal error: no room");
      } else {
        expect_contains(text, "peer failed: rank " + std::to_string(broken) + " at ");
        expect_contains(text, "can't join: no room");
      }
    }
  }
}

TEST(Bootstrap, RanksAsThreadsOfOneProcessJoin) {
  const ReservedPort port;
  std::vector<std::string> outcomes(4);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[static_cast<std::size_t>(rank)] = outcome(join(job(rank, 4, port.store()), address_of(rank)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_contains(outcomes[0], "ok ");
  EXPECT_EQ(std::set(outcomes.begin(), outcomes.end()).size(), 1u);
}

TEST(Bootstrap, AWrongKeyIsRefusedAtOnceAndNamedOnTheOthersAtTheDeadline) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store(), 3s));
  Process second = start(job(1, 3, port.store(), 8s));
  Job wrong = job(2, 3, port.store(), 10s);
  wrong.key = "a wrong key";
  expect_contains(start(wrong).line(), "invalid argument: rank 0 refused rank 2: wrong key");
  EXPECT_EQ(first.line(0ms), "(nothing)") << "this was not at once, but at the deadline of rank 0";
  for (Process* rank : {&first, &second}) {
    const std::string text = rank->line();
    expect_contains(text, "timed out: rank 2 did not come");
    expect_contains(text, "refused a peer at 127.0.0.1:");
    expect_contains(text, "that claimed rank 2 with a wrong key");
  }
}

TEST(Bootstrap, TheRightKeyAfterAWrongOneCompletesTheJob) {
  const ReservedPort port;
  Process first = start(job(0, 2, port.store()));
  Job wrong = job(1, 2, port.store());
  wrong.key.clear();
  expect_contains(start(wrong).line(), "wrong key");
  expect_contains(start(job(1, 2, port.store())).line(), "ok ");
  expect_contains(first.line(), "ok ");
}

TEST(Bootstrap, TwoProcessesWithOneRankFailTheJobOnAllRanks) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Process one = start(job(1, 3, port.store()));
  Process same = start(job(1, 3, port.store()));
  for (Process* rank : {&first, &one, &same})
    expect_contains(rank->line(), "mismatch: two processes are rank 1: 127.0.0.1:");
}

TEST(Bootstrap, DifferingSizesFailTheJobOnAllRanks) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Process one = start(job(1, 3, port.store()));
  std::this_thread::sleep_for(300ms);
  Process other = start(job(2, 4, port.store()));
  for (Process* rank : {&first, &one, &other}) {
    const std::string text = rank->line();
    expect_contains(text, "mismatch: rank 2 at 127.0.0.1:");
    expect_contains(text, "was given size 4, rank 0 size 3");
  }
}

TEST(Bootstrap, MissingRanksAreNamedOnAllRanksAtTheFirstDeadline) {
  const ReservedPort port;
  Process first = start(job(0, 5, port.store(), 60s));
  Process one = start(job(1, 5, port.store(), 2s));
  for (Process* rank : {&first, &one}) expect_contains(rank->line(), "timed out: ranks 2-4 did not come to the store");
}

TEST(Bootstrap, TheRankWithTheLeastTimeEndsTheWaitInWhateverOrderTheyCome) {
  const ReservedPort ports[3];
  std::vector<Process> ranks;
  for (Rank hurried = 1; hurried <= 3; ++hurried) {
    const std::string store = ports[hurried - 1].store();
    ranks.push_back(start(job(0, 5, store, 60s)));
    for (Rank rank = 1; rank <= 3; ++rank) {
      ranks.push_back(start(job(rank, 5, store, rank == hurried ? 4s : 60s), rank * 100ms));
    }
  }
  for (Process& rank : ranks) expect_contains(rank.line(), "timed out: rank 4 did not come to the store");
}

TEST(Bootstrap, AllRanksHoldWhatRankZeroHasDecidedAndWhatEachRankHasToldOfItself) {
  const ReservedPort port;
  std::vector<Membership> seen(3);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      Job mine = job(rank, 3, port.store());
      mine.silence = std::chrono::seconds(20 + rank);
      mine.machine = 100 + static_cast<std::uint64_t>(rank);
      Result<Membership> membership = join(mine, address_of(rank));
      ASSERT_TRUE(membership) << membership.status().to_string();
      seen[static_cast<std::size_t>(rank)] = *std::move(membership);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Rank rank = 0; rank < 3; ++rank) {
    const Membership& one = seen[static_cast<std::size_t>(rank)];
    EXPECT_EQ(one.rank, rank);
    EXPECT_EQ(one.size, 3);
    EXPECT_EQ(one.nonce, seen[0].nonce);
    EXPECT_EQ(one.silence, 20s) << "rank 0's, on rank " << rank;
    EXPECT_TRUE(one.on_one_host);
    EXPECT_EQ(one.hosts, (std::vector<std::string>{"host0", "host1", "host2"}));
    EXPECT_EQ(one.machines, (std::vector<std::uint64_t>{100, 101, 102}));
    EXPECT_EQ(one.addresses, (std::vector<std::vector<std::byte>>{bytes_of(0), bytes_of(1), bytes_of(2)}));
  }
}

TEST(Bootstrap, ARankThatCameAndWentMayComeAgain) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  {
    Process gone = start(job(1, 3, port.store()));
    EXPECT_EQ(gone.line(300ms), "(nothing)");
  }
  Process again = start(job(1, 3, port.store()));
  Process last = start(job(2, 3, port.store()));
  for (Process* rank : {&first, &again, &last}) expect_contains(rank->line(), "ok ");
}

/// The user presses Ctrl-C once, when the join has been waiting for so many looks.
Job interrupted_after(int looks, Job job) {
  job.interrupted = [looks]() mutable { return looks-- == 0; };
  return job;
}

TEST(Bootstrap, AnInterruptedRankZeroEndsTheWaitOfAll) {
  const ReservedPort port;
  Process one = start(job(1, 3, port.store(), 60s));
  Process first = start(interrupted_after(10, job(0, 3, port.store(), 60s)));
  expect_contains(first.line(), "timed out: the program has interrupted the join: ");
  expect_contains(one.line(), "peer failed: rank 0 no longer waits, because its program has interrupted it");
}

TEST(Bootstrap, AnInterruptedRankLeavesItsPlaceToAnother) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store(), 60s));
  Process gone = start(interrupted_after(10, job(1, 3, port.store(), 60s)));
  expect_contains(gone.line(), "timed out: the program has interrupted the join: the store ");
  Process again = start(job(1, 3, port.store(), 60s));
  Process last = start(job(2, 3, port.store(), 60s));
  for (Process* rank : {&first, &again, &last}) expect_contains(rank->line(), "ok ");
}

TEST(Bootstrap, AnInterruptedRankNoLongerLooksForTheStore) {
  const ReservedPort port;
  const auto outcome = join(interrupted_after(3, job(1, 2, port.store(), 60s)), {});
  EXPECT_EQ(outcome.status().code(), Code::TimedOut);
  expect_contains(outcome.status().to_string(),
                  "the program has interrupted the join: rank 1 could not reach the store");
}

TEST(Bootstrap, TheDeathOfRankZeroIsNoticedWhileTheJobComesTogether) {
  const ReservedPort port;
  Process first = start(job(0, 3, port.store()));
  Process one = start(job(1, 3, port.store()));
  EXPECT_EQ(one.line(1s), "(nothing)");  // by now it has come to the store
  first.signal(SIGKILL);
  expect_contains(one.line(), "peer failed: rank 0 at the store 127.0.0.1:");
}

TEST(Bootstrap, AnUnreachableStoreIsAnErrorAtTheDeadline) {
  const ReservedPort port;
  const auto begin = Clock::now();
  const auto outcome = join(job(1, 2, port.store(), 300ms), {});
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_EQ(outcome.status().code(), Code::TimedOut);
  expect_contains(outcome.status().to_string(),
                  "rank 1 could not reach the store " + port.store() + " within 300 ms: Connection refused");
}

TEST(Bootstrap, AnOccupiedStoreIsAnErrorOnRankZero) {
  const ReservedPort port;
  const Result<Fd> listener = listen_at(*resolve(*parse_endpoint(port.store())));
  ASSERT_TRUE(listener);
  const auto outcome = join(job(0, 2, port.store()), {});
  EXPECT_EQ(outcome.status().code(), Code::Transport);
  expect_contains(outcome.status().to_string(),
                  "cannot listen at the store " + port.store() + ": Address already in use");
}

TEST(Bootstrap, AnEmptyKeyIsRefusedBeyondLoopback) {
  for (const Rank rank : {0, 1}) {
    Job open = job(rank, 2, "0.0.0.0:29500");
    open.key.clear();
    const auto outcome = join(open, {});
    EXPECT_EQ(outcome.status().code(), Code::InvalidArgument);
    expect_contains(outcome.status().to_string(), "set LACUNA_KEY");
  }
}

TEST(Bootstrap, AnEmptyKeyServesOnLoopback) {
  const ReservedPort port;
  std::vector<Process> ranks;
  for (const Rank rank : {0, 1}) {
    Job open = job(rank, 2, "localhost:" + std::to_string(port.number()));
    open.key.clear();
    ranks.push_back(start(open));
  }
  for (Process& rank : ranks) expect_contains(rank.line(), "ok ");
}

TEST(Bootstrap, StoresThatCannotBeUnderstoodAreRefusedWithAnExample) {
  for (const char* store : {"", "localhost", ":29500", "localhost:", "localhost:0", "localhost:65536", "localhost:x1",
                            "::1:29500", "[::1:29500", "localhost:29500 "}) {
    const auto outcome = join(job(1, 2, store), {});
    EXPECT_EQ(outcome.status().code(), Code::InvalidArgument) << store;
    expect_contains(outcome.status().to_string(), "such as 127.0.0.1:29500");
  }
}

TEST(Bootstrap, RanksSizesAndTimesThatCannotBeAreRefused) {
  Job bad_rank = job(2, 2, "localhost:29500");
  Job bad_size = job(0, 0, "localhost:29500");
  Job bad_time = job(1, 2, "localhost:29500", 0s);
  for (const Job& bad : {bad_rank, bad_size, bad_time}) {
    EXPECT_EQ(join(bad, {}).status().code(), Code::InvalidArgument);
  }
  const auto too_long = [](const Gathering&) { return std::vector<std::byte>((1 << 16) + 1); };
  EXPECT_EQ(join(job(0, 1, ""), too_long).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace lacuna::runtime
