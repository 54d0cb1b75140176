#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "bindings/c/lacuna.h"

namespace lacuna {
namespace {

TEST(CMemory, IsAlignedAndGoesBack) {
  for (const std::size_t bytes : {0, 100, 1'000'000}) {
    void* memory = nullptr;
    ASSERT_EQ(lacuna_alloc(bytes, &memory), LACUNA_OK);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, bytes);
    lacuna_free(memory);
  }
  lacuna_free(nullptr);
}

TEST(CMemory, RefusesWhatIsNotThereAndNoPlaceForTheAddress) {
  int untouched = 0;
  void* memory = &untouched;
  EXPECT_EQ(lacuna_alloc(SIZE_MAX - 1, &memory), LACUNA_INTERNAL);
  EXPECT_EQ(lacuna_last_error(), "there is no memory for " + std::to_string(SIZE_MAX - 1) + " bytes");
  EXPECT_EQ(memory, &untouched);
  EXPECT_EQ(lacuna_alloc(1, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(lacuna_last_error(), std::string("memory is null"));
}

}  // namespace
}  // namespace lacuna
