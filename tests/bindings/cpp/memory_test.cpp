#include "bindings/cpp/memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/values/mappable_heap.hpp"
#include "tests/support/process.hpp"

namespace lacuna::test {
namespace {

bool is_mappable(const void* memory, std::size_t bytes) {
  return MappableHeap::of_process().find({static_cast<const std::byte*>(memory), bytes}).has_value();
}

TEST(MappableMemory, IsAlignedAndMappableAndGoesBack) {
  const std::size_t before = MappableHeap::of_process().taken();
  for (const std::size_t bytes : {0, 1, 100, 100'000, 3'000'000}) {
    void* const memory = allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    EXPECT_TRUE(is_mappable(memory, bytes));
    std::memset(memory, 1, bytes);
    deallocate(memory);
  }
  deallocate(nullptr);
  EXPECT_EQ(MappableHeap::of_process().taken(), before);
}

TEST(MappableMemory, IsNullIfThereIsNotSoMuch) { EXPECT_EQ(allocate(SIZE_MAX - 1), nullptr); }

// A lock that another thread holds when the process forks is never freed in the child.
TEST(MappableMemory, CanBeTakenInAProcessThatIsForkedWhileAThreadTakesSome) {
  std::atomic<bool> goes_on{true};
  std::thread other([&] {
    while (goes_on) deallocate(allocate(8 << 20));
  });
  for (int round = 0; round < 30; ++round) {
    Process child([](const Process::Say& say) {
      void* const memory = allocate(100);
      say(memory ? "taken" : "none");
      deallocate(memory);
    });
    EXPECT_EQ(child.line(std::chrono::seconds(20)), "taken") << "round " << round;
  }
  goes_on = false;
  other.join();
}

TEST(MappableMemory, HoldsContainers) {
  std::pmr::vector<double> values(1000, &mappable_memory());
  std::iota(values.begin(), values.end(), 0);
  values.resize(5000, 7);
  EXPECT_TRUE(is_mappable(values.data(), values.size() * sizeof(double)));
  EXPECT_EQ(values[999], 999);
  EXPECT_EQ(values.back(), 7);
  EXPECT_THROW(static_cast<void>(mappable_memory().allocate(64, 128)), std::bad_alloc);
}

}  // namespace
}  // namespace lacuna::test
