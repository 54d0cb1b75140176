#include "runtime/values/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/values/method_state.hpp"
#include "tests/support/counted_memory.hpp"

namespace lacuna::test {
namespace {

std::vector<std::byte> bytes_of(const MemoryBlock& block) {
  std::vector<std::byte> bytes(block.size());
  block.copy_to(bytes.data());
  return bytes;
}

TEST(MemoryBlock, HoldsZerosAtFirst) {
  CountedMemory memory;
  for (std::size_t count : {1u, 63u, 64u, 1000u}) {
    EXPECT_EQ(bytes_of(MemoryBlock(count, memory)), std::vector<std::byte>(count)) << count;
  }
}

TEST(MemoryBlock, ACopyHasBytesOfItsOwnInTheSameSpace) {
  CountedMemory memory;
  {
    const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
    MemoryBlock block(bytes, memory);
    const MemoryBlock copy = block;
    EXPECT_EQ(memory.in_use(), 2u);
    block.data()[1] = std::byte{9};
    EXPECT_EQ(bytes_of(copy), bytes);
    const MemoryBlock moved = std::move(block);
    EXPECT_EQ(memory.in_use(), 2u);
    EXPECT_EQ(bytes_of(moved)[1], std::byte{9});
  }
  EXPECT_EQ(memory.in_use(), 0u);
}

TEST(MemoryBlock, AnAssignedBlockGivesItsMemoryBack) {
  CountedMemory memory;
  MemoryBlock block(100, memory);
  block = MemoryBlock(10, memory);
  EXPECT_EQ(memory.in_use(), 1u);
  block = {};
  EXPECT_EQ(memory.in_use(), 0u);
  EXPECT_EQ(block.size(), 0u);
}

TEST(MemoryBlock, WithoutBytesTakesNoMemory) {
  CountedMemory memory;
  const MemoryBlock block(0, memory);
  const MemoryBlock copy = block;
  EXPECT_EQ(copy.size(), 0u);
  EXPECT_EQ(memory.taken(), 0u);
}

TEST(HostMemory, IsAligned) {
  for (std::size_t bytes : {1u, 8u, 100u, 4097u}) {
    std::byte* const memory = host_memory().take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % MemorySpace::alignment, 0u) << bytes;
    host_memory().give_back(memory, bytes);
  }
}

TEST(StateArrays, LieInTheSpaceInWhichTheyWereMade) {
  CountedMemory memory;
  {
    MethodState state;
    state.array("residual", Dtype::F32, 8, true, memory);
    EXPECT_EQ(memory.in_use(), 1u);
    const MethodState copy = state;
    EXPECT_EQ(memory.in_use(), 2u);
    MethodState restored;
    ASSERT_TRUE(restored.restore(*state.save()));
    EXPECT_EQ(*restored.save(), *copy.save());
  }
  EXPECT_EQ(memory.in_use(), 0u);
}

}  // namespace
}  // namespace lacuna::test
