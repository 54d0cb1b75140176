#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "bindings/c/lacuna.h"
#include "tests/bindings/c/c_calls.h"

namespace lacuna::test {

/// A job of one rank.
class OneCRank : public testing::Test {
 protected:
  OneCRank() { EXPECT_EQ(lacuna_join(nullptr, &rank_), LACUNA_OK) << lacuna_last_error(); }
  ~OneCRank() override { lacuna_communicator_free(rank_); }

  lacuna_communicator* rank_ = nullptr;
};

/// What a function is given. Most of it is right.
struct Given {
  Given() {
    input = {sizeof(lacuna_buffer), in.data(), 4, LACUNA_F32, LACUNA_MEMORY_HOST, 0, nullptr};
    output = input;
    output.data = out.data();
    blocks.counts = counts.data();
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  std::array<float, 4> in{1, 2, 3, 4}, out{};
  std::array<std::size_t, 1> counts = {4};
  lacuna_buffer input, output;
  lacuna_blocks blocks = LACUNA_BLOCKS_INIT;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  int32_t reduction = LACUNA_SUM, root = 0;

  /// Returns the reduction as C has it, which may hold any number.
  lacuna_reduction as_reduction() const { return std::bit_cast<lacuna_reduction>(reduction); }
};

}  // namespace lacuna::test
