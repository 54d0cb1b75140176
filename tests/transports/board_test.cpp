#include "transports/board.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lacuna {
namespace {

using Bytes = std::vector<std::byte>;

/// Bytes that differ for each member and turn.
Bytes bytes_of(Rank member, std::uint64_t turn, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + turn * 31 + std::size_t(member));
  return bytes;
}

Board::Note note_of(Rank member, std::uint64_t turn) {
  return {.run = static_cast<std::uint32_t>(turn), .digest = static_cast<std::uint32_t>(member)};
}

std::vector<Board> boards(Rank members) {
  const auto memory = Board::local_memory(members);
  std::vector<Board> all;
  for (Rank own = 0; own < members; ++own) all.emplace_back(memory, members, own);
  return all;
}

bool write(Board& board, Rank own, std::size_t length) {
  const std::uint64_t turn = board.written() + 1;
  return board.write(note_of(own, turn), bytes_of(own, turn, length));
}

/// Does this board show the right row of each member?
bool shows(const Board& board, std::uint64_t turn, std::size_t length) {
  for (Rank member = 0; member < board.members(); ++member) {
    const Board::Row row = board.row(member, turn);
    const Bytes expected = bytes_of(member, turn, length);
    const bool is_right =
        board.has_written(member, turn) && row.note == note_of(member, turn) && std::ranges::equal(row.bytes, expected);
    if (!is_right) return false;
  }
  return true;
}

TEST(Board, ShowsEachMemberTheRowsOfAllWhateverTheirLength) {
  for (const Rank members : {1, 2, 3, 65}) {
    auto all = boards(members);
    std::uint64_t turn = 0;
    for (const std::size_t length : {0u, 1u, 39u, 40u, 41u, 64u, 65u, 4095u, 4096u, 8u, 4096u, 16u}) {
      ++turn;
      for (Rank own = 0; own < members; ++own) {
        EXPECT_FALSE(all[0].has_written(own, turn));
        ASSERT_TRUE(write(all[std::size_t(own)], own, length));
        EXPECT_TRUE(all[0].has_written(own, turn));
      }
      for (Board& board : all) {
        EXPECT_TRUE(shows(board, turn, length)) << members << " members, row of " << length;
        board.pass(turn);
      }
    }
  }
}

TEST(Board, HasNoRoomForARowThatSomeoneMayStillRead) {
  auto all = boards(2);
  for (std::uint64_t turn = 1; turn <= Board::turns; ++turn) ASSERT_TRUE(write(all[0], 0, 100)) << turn;
  EXPECT_FALSE(all[0].has_room());
  EXPECT_FALSE(write(all[0], 0, 100));
  EXPECT_EQ(all[0].written(), Board::turns);
  ASSERT_TRUE(write(all[1], 1, 100));
  EXPECT_TRUE(shows(all[1], 1, 100));
  all[0].pass(1);
  EXPECT_FALSE(all[0].has_room()) << "the other member may still read the row of turn 1";
  all[1].pass(1);
  EXPECT_TRUE(all[0].has_room());
  ASSERT_TRUE(write(all[0], 0, 100));
  EXPECT_FALSE(all[0].has_room());
}

TEST(Board, TellsEachSleeperOnce) {
  auto all = boards(130);
  const auto sleepers_of = [&](std::size_t own) {
    const auto told = all[own].take_sleepers();
    return std::vector<Rank>(told.begin(), told.end());
  };
  for (const std::size_t member : {0u, 63u, 64u, 129u}) all[member].ask_to_be_woken();
  EXPECT_EQ(sleepers_of(64), (std::vector<Rank>{0, 63, 129})) << "a member does not wake itself";
  EXPECT_EQ(sleepers_of(6), std::vector<Rank>{64}) << "another thread of that member may sleep";
  EXPECT_EQ(sleepers_of(6), std::vector<Rank>());
}

TEST(Board, TellsWhereMembersAreRungAtAndWhoHasLeft) {
  const auto memory = Board::local_memory(2);
  Board one(memory, 2, 0, {.high = 3, .low = 4}), other(memory, 2, 1);
  EXPECT_EQ(other.bell_of(0), (Doorbell::Address{.high = 3, .low = 4}));
  EXPECT_EQ(one.bell_of(1), Doorbell::Address());
  EXPECT_FALSE(other.has_left(0));
  one.leave();
  EXPECT_TRUE(other.has_left(0));
  EXPECT_FALSE(one.has_left(1));
}

TEST(Board, SharesRowsBetweenThreadsThatDoNotWaitForEachOther) {
  constexpr std::uint64_t turns = 2'000;
  constexpr Rank members = 3;
  auto all = boards(members);
  std::vector<std::uint64_t> wrong(members, 0);
  std::vector<std::thread> threads;
  for (Rank own = 0; own < members; ++own) {
    threads.emplace_back([&, own] {
      Board& board = all[std::size_t(own)];
      for (std::uint64_t read = 0; read < turns;) {
        while (board.written() < turns && write(board, own, (board.written() + 1) % 200)) {
        }
        const auto is_written = [&](Rank member) { return board.has_written(member, read + 1); };
        if (!is_written(0) || !is_written(1) || !is_written(2)) {
          std::this_thread::yield();
          continue;
        }
        ++read;
        if (!shows(board, read, read % 200)) ++wrong[std::size_t(own)];
        board.pass(read);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::uint64_t>(members, 0));
}

/// A place where two threads wait for each other, again and again.
class Meeting {
 public:
  void wait() {
    const std::uint64_t all = (came_.fetch_add(1) / 2 + 1) * 2;
    for (int looks = 0; came_.load() < all; ++looks) {
      if (looks > 1'000) std::this_thread::yield();
    }
  }

 private:
  std::atomic<std::uint64_t> came_{0};
};

// Both threads act at the same time: one writes and looks for sleepers, the other falls asleep and looks for the row.
// Other programs may keep one of them from its processor for long, so that the time is limited too.
TEST(Board, LetsNobodySleepOverARow) {
  constexpr std::uint64_t turns = 300'000;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  auto all = boards(2);
  Meeting meeting;
  std::vector<bool> seen, told;
  std::atomic<bool> is_over = false;
  std::thread sleeper([&] {
    for (std::uint64_t turn = 1; !is_over; ++turn) {
      meeting.wait();
      for (std::uint64_t pause = turn % 64; pause > 0 && !is_over; --pause) continue;  // not always at the same moment
      all[1].ask_to_be_woken();
      seen.push_back(all[1].has_written(0, turn));
      all[1].pass(turn);
      meeting.wait();
    }
  });
  for (std::uint64_t turn = 1; !is_over; ++turn) {
    meeting.wait();
    EXPECT_TRUE(all[0].write(note_of(0, turn), {}));
    told.push_back(!all[0].take_sleepers().empty());
    all[0].pass(turn);
    is_over = turn == turns || std::chrono::steady_clock::now() > until;
    meeting.wait();
    static_cast<void>(all[0].take_sleepers());
  }
  sleeper.join();
  ASSERT_EQ(seen.size(), told.size());
  std::uint64_t missed = 0;
  for (std::size_t turn = 0; turn < seen.size(); ++turn) missed += !seen[turn] && !told[turn];
  EXPECT_EQ(missed, 0u) << "of " << seen.size() << " turns";
}

TEST(Board, IsSharedWithAnotherProcess) {
  const Board::Shared shared = Board::shared_memory(2);
  if (!shared.memory) GTEST_SKIP() << "this system has no memory that other processes can map";
  Board here(shared.memory, 2, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto memory = Board::map(shared.segment, 2);
    if (!memory) ::_exit(2);
    Board there(*memory, 2, 1);
    if (!write(there, 1, 300)) ::_exit(3);
    while (!there.has_written(0, 1)) std::this_thread::yield();
    ::_exit(shows(there, 1, 300) ? 0 : 4);
  }
  ASSERT_TRUE(write(here, 0, 300));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(shows(here, 1, 300));
}

TEST(Board, StaysForOthersWhenItsMakerLeaves) {
  Board::Shared shared = Board::shared_memory(2);
  if (!shared.memory) GTEST_SKIP() << "this system has no memory that other processes can map";
  auto mapped = Board::map(shared.segment, 2);
  ASSERT_TRUE(mapped) << mapped.status().to_string();
  Board other(*mapped, 2, 1);
  {
    Board maker(std::move(shared.memory), 2, 0);
    ASSERT_TRUE(write(maker, 0, 300));
    ASSERT_TRUE(write(other, 1, 300));
  }
  EXPECT_TRUE(shows(other, 1, 300));
}

TEST(Board, IsNotMappedIfItIsTooShortOrAnotherFile) {
  const Board::Shared shared = Board::shared_memory(2);
  if (!shared.memory) GTEST_SKIP() << "this system has no memory that other processes can map";
  EXPECT_TRUE(Board::map(shared.segment, 2));
  EXPECT_FALSE(Board::map(shared.segment, 2000));
  MappableSegment other = shared.segment;
  ++other.inode;
  EXPECT_FALSE(Board::map(other, 2));
}

}  // namespace
}  // namespace lacuna
