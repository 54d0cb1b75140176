#include "runtime/values/mappable_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/support/process.hpp"
#include "transports/mapped_segment.hpp"

namespace lacuna::test {
namespace {

/// Returns what another process finds at this address.
std::span<const std::byte> as_seen(const MappableHeap& heap, const MappedSegment& mapped, const std::byte* memory,
                                   std::size_t bytes) {
  return mapped.bytes().subspan(heap.find({memory, bytes})->offset, bytes);
}

MappedSegment map_that_of(const MappableHeap& heap, const std::byte* memory) {
  auto mapped = MappedSegment::map(heap.segment(heap.find({memory, 1})->segment));
  if (!mapped) throw std::runtime_error(mapped.status().to_string());
  return std::move(*mapped);
}

TEST(MappableHeap, WhatIsWrittenIsSeenThroughAMapping) {
  MappableHeap heap;
  std::byte* const memory = heap.take(100'000);
  std::memset(memory, 42, 100'000);
  const MappedSegment mapped = map_that_of(heap, memory);
  const auto seen = as_seen(heap, mapped, memory, 100'000);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](std::byte one) { return one == std::byte{42}; }));
  heap.give_back(memory, 100'000);
  EXPECT_EQ(heap.taken(), 0u);
}

// Each block is filled with a byte of its own, and checked before it goes.
TEST(MappableHeap, BlocksAreAlignedAndDoNotOverlapInAnyOrderOfTakingAndGivingBack) {
  struct Block {
    std::byte* memory;
    std::size_t bytes;
    int value;
  };
  MappableHeap heap;
  std::vector<Block> blocks;
  std::mt19937 random(5);
  const auto give_back = [&](std::size_t at) {
    const Block block = blocks[at];
    const auto is_whole = [&](std::byte one) { return one == static_cast<std::byte>(block.value); };
    ASSERT_TRUE(std::all_of(block.memory, block.memory + block.bytes, is_whole));
    heap.give_back(block.memory, block.bytes);
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
  };
  for (int round = 0; round < 3000; ++round) {
    if (blocks.size() < 40 && random() % 3 != 0) {
      const std::size_t bytes = random() % (random() % 4 == 0 ? 500'000 : 3000);
      Block block{heap.take(bytes), bytes, static_cast<int>(random() % 256)};
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block.memory) % MappableHeap::alignment, 0u);
      ASSERT_TRUE(heap.find({block.memory, bytes}));
      std::memset(block.memory, block.value, bytes);
      blocks.push_back(block);
    } else if (!blocks.empty()) {
      give_back(random() % blocks.size());
    }
  }
  while (!blocks.empty()) give_back(0);
  EXPECT_EQ(heap.taken(), 0u);
  EXPECT_EQ(heap.find({heap.take(100), 1})->segment, 0u) << "one segment serves all this";
}

// The heap may keep two of three megabytes.
TEST(MappableHeap, KeepsSomePagesAndGivesTheOthersToTheSystemWhereTheyReadAsZeros) {
  constexpr std::size_t bytes = 1 << 20;
  MappableHeap heap(2 * bytes);
  for (int round = 0; round < 3; ++round) {
    std::array<std::byte*, 3> blocks{};
    std::array<std::byte, 3> after{};
    for (std::byte*& block : blocks) std::memset(block = heap.take(bytes), 42, bytes);
    const MappedSegment mapped = map_that_of(heap, blocks[0]);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto seen = as_seen(heap, mapped, blocks[i], bytes);
      heap.give_back(blocks[i], bytes);
      after[i] = seen[bytes / 2];
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [&](std::byte one) { return one == after[i]; }));
    }
    EXPECT_EQ(after, (std::array{std::byte{42}, std::byte{42}, std::byte{0}})) << "round " << round;
  }
}

TEST(MappableHeap, BeyondItsBoundMemoryIsOrdinary) {
  MappableHeap heap;
  heap.set_bound(8000);
  std::byte* const within = heap.take(8000);
  std::byte* const beyond = heap.take(8000);
  EXPECT_TRUE(heap.find({within, 8000}));
  EXPECT_FALSE(heap.find({beyond, 8000}));
  EXPECT_EQ(heap.taken(), 8000u);
  std::memset(beyond, 1, 8000);
  heap.give_back(beyond, 8000);
  heap.give_back(within, 8000);
  EXPECT_TRUE(heap.find({heap.take(8000), 8000}));
}

TEST(MappableHeap, BytesThatReachBeyondASegmentAreNotFound) {
  MappableHeap heap;
  std::byte* const memory = heap.take(64);
  const std::vector<std::byte> elsewhere(64);
  EXPECT_TRUE(heap.find({memory, 64}));
  EXPECT_FALSE(heap.find({memory, heap.segment(0).bytes + 1}));
  EXPECT_FALSE(heap.find(elsewhere));
}

// The heap keeps no pages, so that whoever gives back memory gives its pages to the system.
TEST(MappableHeap, AForkedProcessTakesOtherMemoryThanItsParentAndGivesNoneOfItsBack) {
  constexpr std::size_t bytes = 1 << 20;
  for (const bool takes_first : {false, true}) {
    MappableHeap heap(0);
    std::byte* const before = heap.take(bytes);
    std::memset(before, 1, bytes);
    Process child([&](const Process::Say& say) {
      bool is_apart = true;
      const auto take = [&] {
        std::byte* const memory = heap.take(bytes);
        is_apart = is_apart && heap.find({memory, bytes})->segment != heap.find({before, bytes})->segment;
        std::memset(memory, 2, bytes);
      };
      if (takes_first) take();
      heap.give_back(before, bytes);  // the parent still uses it
      take();
      say(is_apart ? "apart" : "shared");
    });
    EXPECT_EQ(child.line(), "apart");
    EXPECT_EQ(child.wait(), 0);
    EXPECT_TRUE(std::all_of(before, before + bytes, [](std::byte one) { return one == std::byte{1}; })) << takes_first;
  }
}

}  // namespace
}  // namespace lacuna::test
