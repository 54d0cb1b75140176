#include "runtime/engine/compute.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "kernels/backend.hpp"

namespace lacuna::test {
namespace {

using runtime::Compute;
using runtime::Work;

/// A step that clears some bytes.
struct Clearing {
  Clearing() {
    work.backend = &kernels::best_backend();
    work.computation = {.kind = StepKind::Clear,
                        .to = {.data = bytes.data(), .count = bytes.size(), .dtype = Dtype::U8}};
    bytes.fill(std::byte{7});
  }
  bool is_done() const { return bytes == std::array<std::byte, 8>{}; }

  std::array<std::byte, 8> bytes;
  Work work;
};

TEST(HostCompute, AsksForATurnUntilTheLastStepThatHasEndedIsFetched) {
  const std::unique_ptr<Compute> compute = runtime::host_compute();
  EXPECT_FALSE(compute->wants_turn());
  Clearing first, second;
  EXPECT_EQ(compute->start(first.work), Started::Pending);
  EXPECT_EQ(compute->start(second.work), Started::Pending);
  EXPECT_TRUE(compute->wants_turn()) << "two steps wait";
  EXPECT_FALSE(compute->ended());
  EXPECT_TRUE(compute->advance());
  EXPECT_TRUE(first.is_done());
  EXPECT_FALSE(second.is_done());
  EXPECT_TRUE(compute->advance());
  EXPECT_FALSE(compute->advance());
  EXPECT_TRUE(compute->wants_turn()) << "two steps have ended, and nobody knows it";
  EXPECT_EQ(compute->ended(), &first.work);
  EXPECT_TRUE(compute->wants_turn()) << "one step has ended, and nobody knows it";
  EXPECT_EQ(compute->ended(), &second.work);
  EXPECT_FALSE(compute->ended());
  EXPECT_FALSE(compute->wants_turn());
}

TEST(HostCompute, TakesAStepThatWasCarriedOutBefore) {
  const std::unique_ptr<Compute> compute = runtime::host_compute();
  Clearing step;
  for (int time = 0; time < 3; ++time) {
    step.bytes.fill(std::byte{7});
    EXPECT_EQ(compute->start(step.work), Started::Pending);
    EXPECT_TRUE(compute->advance());
    EXPECT_TRUE(step.is_done());
    EXPECT_EQ(compute->ended(), &step.work);
    EXPECT_FALSE(compute->wants_turn());
  }
}

}  // namespace
}  // namespace lacuna::test
