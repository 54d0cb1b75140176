#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "algorithms/blocks/sets.hpp"
#include "tests/support/configured_kernels.hpp"

// Messages of sets of blocks. What comes from other ranks is checked.
namespace lacuna::test {
namespace {

using Bytes = std::vector<std::byte>;

/// A set in a table, as a plain loop writes it.
struct Table {
  std::size_t blocks;
  std::vector<std::uint64_t> memory;

  explicit Table(const std::vector<bool>& members)
      : blocks(members.size()), memory(block::set_bytes(blocks) / sizeof(std::uint64_t), ~std::uint64_t{0}) {
    std::memset(map(), 0, (blocks + 7) / 8);
    for (std::size_t b = 0; b < blocks; ++b) {
      if (members[b]) map()[b / 8] |= std::byte{1} << b % 8;
    }
    block::complete_set(configured_kernels(), at(), blocks);
  }
  std::byte* at() { return reinterpret_cast<std::byte*>(memory.data()); }
  std::byte* map() { return block::map_in(at()); }
  kernels::BlockSet set() { return block::set_in(at(), blocks); }

  Bytes message() {
    Bytes to(block::most_message_bytes(blocks), std::byte{0xee});
    to.resize(block::write_set(set(), blocks, to.data()));
    return to;
  }
  std::vector<bool> members() {
    std::vector<bool> all(blocks);
    for (std::size_t b = 0; b < blocks; ++b) all[b] = (map()[b / 8] >> b % 8 & std::byte{1}) != std::byte{0};
    return all;
  }
};

Status read(Bytes message, Table& to) {
  const Extent extent{.data = message.data(), .count = message.size(), .dtype = Dtype::U8};
  return block::read_set(configured_kernels(), extent, 3, to.blocks, to.at());
}

std::vector<bool> drawn(std::size_t blocks, unsigned per_mille, std::mt19937& random) {
  std::vector<bool> members(blocks);
  for (std::size_t b = 0; b < blocks; ++b) members[b] = random() % 1000 < per_mille;
  return members;
}

TEST(BlocksSets, AreReadAsTheyWereWrittenInTheShorterForm) {
  std::mt19937 random(1);
  for (std::size_t blocks : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 1000u, 4096u}) {
    for (unsigned per_mille : {0u, 1u, 20u, 31u, 32u, 500u, 1000u}) {
      const std::vector<bool> members = drawn(blocks, per_mille, random);
      const auto count = static_cast<std::size_t>(std::count(members.begin(), members.end(), true));
      Table from(members), to{std::vector<bool>(blocks)};
      const Bytes message = from.message();
      EXPECT_EQ(message.size(), count == 0 ? 0 : 4 + std::min(4 * count, (blocks + 7) / 8)) << blocks;
      ASSERT_TRUE(read(message, to)) << blocks << " " << per_mille;
      EXPECT_EQ(to.members(), members);
      EXPECT_EQ(block::size_of(to.set(), blocks), count);
      EXPECT_EQ(to.memory, from.memory) << "also the bits behind the last block, and the ranks";
    }
  }
}

TEST(BlocksSets, CountTheElementsOfTheirBlocksOfWhichTheLastMayBeShorter) {
  Table set({true, false, true, true});
  EXPECT_EQ(block::elements_of(set.set(), {.elements = 40, .length = 10}), 30u);
  EXPECT_EQ(block::elements_of(set.set(), {.elements = 33, .length = 10}), 23u);
  Table without_last({true, false, true, false});
  EXPECT_EQ(block::elements_of(without_last.set(), {.elements = 33, .length = 10}), 20u);
}

/// The text of the error that a message gives.
std::string refusal(const Bytes& message, std::size_t blocks) {
  Table to{std::vector<bool>(blocks)};
  return read(message, to).to_string();
}
Bytes listed(std::uint32_t count, const std::vector<std::uint32_t>& numbers) {
  Bytes message(4 + 4 * numbers.size());
  std::memcpy(message.data(), &count, 4);
  if (!numbers.empty()) std::memcpy(message.data() + 4, numbers.data(), 4 * numbers.size());
  return message;
}

TEST(BlocksSets, ThatCannotBeRightAreRefused) {
  constexpr auto text = [](const char* what) { return std::string("mismatch: the set of blocks of rank 3: ") + what; };
  EXPECT_EQ(refusal(Bytes(3), 1000), text("a message of 3 bytes names 0 blocks of 1000"));
  EXPECT_EQ(refusal(listed(2, {5}), 1000), text("a message of 8 bytes names 2 blocks of 1000"));
  EXPECT_EQ(refusal(listed(0, {}), 1000), text("a message of 4 bytes names 0 blocks of 1000"));
  EXPECT_EQ(refusal(listed(2, {5, 5}), 1000), text("numbers must ascend below 1000"));
  EXPECT_EQ(refusal(listed(2, {6, 5}), 1000), text("numbers must ascend below 1000"));
  EXPECT_EQ(refusal(listed(2, {5, 1000}), 1000), text("numbers must ascend below 1000"));
  EXPECT_EQ(refusal(listed(0xffffffff, {}), 1000), text("a message of 4 bytes names 4294967295 blocks of 1000"));
  Bytes map = listed(2, {});
  map.push_back(std::byte{0b111});
  EXPECT_EQ(refusal(map, 4), text("it has 3 blocks, and 2 were announced"));
  map.back() = std::byte{0b10001};
  EXPECT_EQ(refusal(map, 4), text("numbers must ascend below 4"));
}

TEST(BlocksSets, DamagedMessagesAreRefusedOrAreOtherSets) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t blocks = 1 + random() % 300;
    Table from(drawn(blocks, static_cast<unsigned>(random() % 300), random)), to{std::vector<bool>(blocks)};
    Bytes message = from.message();
    for (auto changes = random() % 3; changes > 0 && !message.empty(); --changes) {
      message[random() % message.size()] ^= std::byte{1} << random() % 8;
    }
    if (random() % 4 == 0) message.resize(random() % (message.size() + 4));
    if (!read(message, to)) continue;
    // What was accepted has a message of its own, which says the same.
    Table again{std::vector<bool>(blocks)};
    ASSERT_TRUE(read(to.message(), again));
    EXPECT_EQ(again.members(), to.members());
  }
}

}  // namespace
}  // namespace lacuna::test
