#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/host_space.hpp"

/// What functors may expect of every space in which they run.
namespace lacuna::kernels {

inline constexpr std::array<std::size_t, 6> space_counts = {0, 1, 2, 17, 1000, 100003};

template <class Space>
class SpaceProperties : public testing::Test {};
TYPED_TEST_SUITE_P(SpaceProperties);

struct CountCalls {
  int* calls;
  void operator()(std::size_t i) const { ++calls[i]; }
};

struct AddSquares {
  void operator()(std::size_t i, std::uint64_t& sum) const { sum += i * i; }
};

/// Numbers the integers that are not divisible by three, and counts how often `final` was true.
struct NumberSome {
  std::uint64_t* before;
  int* finals;
  void operator()(std::size_t i, std::uint64_t& sum, bool final) const {
    if (final) {
      before[i] = sum;
      ++finals[i];
    }
    if (i % 3 != 0) ++sum;
  }
};

/// Each team writes its numbers into its scratch backwards, and after the barrier copies them out.
template <class Team>
struct TurnRound {
  std::size_t each;
  std::uint32_t* out;
  int* once;
  void operator()(const Team& team) const {
    auto* scratch = team.template scratch<std::uint32_t>();
    const std::size_t base = team.number() * each;
    team.each(each, [&](std::size_t i) { scratch[each - 1 - i] = static_cast<std::uint32_t>(base + i); });
    team.barrier();
    team.each(each, [&](std::size_t i) { out[base + i] = scratch[i]; });
    team.once([&] { ++once[team.number()]; });
  }
};

/// Counts the residues of all integers in a table that all teams share.
template <class Team>
struct CountResidues {
  std::size_t each;
  std::uint64_t* residues;
  void operator()(const Team& team) const {
    team.each(each, [&](std::size_t i) { Team::add(residues + (team.number() * each + i) % 5, std::uint64_t{1}); });
  }
};

TYPED_TEST_P(SpaceProperties, ForEachCallsOnceForEachIndex) {
  for (std::size_t count : space_counts) {
    std::vector<int> calls(count + 1, 0), expected(count + 1, 1);
    expected.back() = 0;
    TypeParam::for_each(count, CountCalls{calls.data()});
    EXPECT_EQ(calls, expected);
  }
}

TYPED_TEST_P(SpaceProperties, ReduceOverwritesWithTheSum) {
  for (std::uint64_t count : space_counts) {
    std::uint64_t sum = 77, expected = 0;
    for (std::uint64_t i = 0; i < count; ++i) expected += i * i;
    TypeParam::reduce(count, AddSquares(), &sum);
    EXPECT_EQ(sum, expected);
  }
}

TYPED_TEST_P(SpaceProperties, ScanTellsWhatStandsBeforeAndTheTotal) {
  for (std::size_t count : space_counts) {
    std::vector<std::uint64_t> before(count), expected(count);
    std::vector<int> finals(count, 0);
    std::uint64_t total = 77;
    for (std::size_t i = 0; i < count; ++i) expected[i] = i == 0 ? 0 : i - 1 - (i - 1) / 3;
    TypeParam::scan(count, NumberSome{before.data(), finals.data()}, &total);
    EXPECT_EQ(before, expected);
    EXPECT_EQ(finals, std::vector<int>(count, 1));
    EXPECT_EQ(total, count == 0 ? 0 : count - 1 - (count - 1) / 3);
  }
}

TYPED_TEST_P(SpaceProperties, TeamsHaveScratchOfTheirOwnUpToTheMost) {
  for (std::size_t teams : {0u, 1u, 2u, 37u}) {
    for (std::size_t bytes : {std::size_t{4}, std::size_t{1000}, TypeParam::most_scratch}) {
      const std::size_t each = bytes / sizeof(std::uint32_t);
      std::vector<std::uint32_t> out(teams * each), expected(teams * each);
      std::vector<int> once(teams, 0);
      for (std::size_t i = 0; i < out.size(); ++i) {
        expected[i] = static_cast<std::uint32_t>((i / each) * each + each - 1 - i % each);
      }
      TypeParam::for_teams(teams, bytes, TurnRound<typename TypeParam::Team>{each, out.data(), once.data()});
      EXPECT_EQ(out, expected);
      EXPECT_EQ(once, std::vector<int>(teams, 1));
    }
  }
}

TYPED_TEST_P(SpaceProperties, TeamsAddToWhatTheyShare) {
  std::array<std::uint64_t, 5> residues{};
  TypeParam::for_teams(100, 0, CountResidues<typename TypeParam::Team>{1001, residues.data()});
  EXPECT_EQ(residues, (std::array<std::uint64_t, 5>{20020, 20020, 20020, 20020, 20020}));
}

TYPED_TEST_P(SpaceProperties, MoveMayOverlapOnBothSides) {
  for (std::ptrdiff_t shift : {-700, -1, 0, 1, 3, 700}) {
    std::vector<std::byte> data(3000), expected(3000);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i % 251);
    expected = data;
    for (std::size_t i = 1000; i < 2000; ++i) {
      expected[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(i) + shift)] = data[i];
    }
    TypeParam::move(data.data() + 1000 + shift, data.data() + 1000, 1000);
    EXPECT_EQ(data, expected) << shift;
  }
}

TYPED_TEST_P(SpaceProperties, ThreadsMayCallAtTheSameTime) {
  constexpr std::size_t threads = 4, rounds = 1000, count = 3000;
  std::array<std::size_t, threads> wrong{};
  const auto check = [&wrong](std::size_t thread) {
    std::vector<std::uint64_t> before(count);
    std::vector<int> finals(count), once(8);
    std::vector<std::uint32_t> out(8 * 500);
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::uint64_t length = count - thread - round;
      std::uint64_t sum = 0, total = 0;
      TypeParam::reduce(length, AddSquares(), &sum);
      TypeParam::scan(length, NumberSome{before.data(), finals.data()}, &total);
      TypeParam::for_teams(8, 2000, TurnRound<typename TypeParam::Team>{500, out.data(), once.data()});
      if (sum != (length - 1) * length * (2 * length - 1) / 6) ++wrong[thread];
      if (total != length - 1 - (length - 1) / 3) ++wrong[thread];
      for (std::uint32_t i = 0; i < out.size(); ++i) wrong[thread] += out[i] != (i / 500) * 500 + 499 - i % 500;
    }
  };
  std::vector<std::thread> running;
  for (std::size_t thread = 0; thread < threads; ++thread) running.emplace_back(check, thread);
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, (std::array<std::size_t, threads>{}));
}

REGISTER_TYPED_TEST_SUITE_P(SpaceProperties, ForEachCallsOnceForEachIndex, ReduceOverwritesWithTheSum,
                            ScanTellsWhatStandsBeforeAndTheTotal, TeamsHaveScratchOfTheirOwnUpToTheMost,
                            TeamsAddToWhatTheyShare, MoveMayOverlapOnBothSides, ThreadsMayCallAtTheSameTime);

}  // namespace lacuna::kernels
