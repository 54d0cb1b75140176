#include <gtest/gtest.h>

#include "tests/processes/executed.hpp"

namespace lacuna::test {
namespace {

Job soak(const std::string& time) {
  const std::vector<std::string> command = {LACUNA_WORKER, "size=3", "soak=" + time};
  return Job({3, command}, {{"LACUNA_CHUNK", "32K"}, {"LACUNA_DEADLINE", "200"}});
}

TEST(Soak, SomeSecondsOfStormsLeaveNothingBehind) {
  Job job = soak("2");
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 0) << "rank " << rank << ":\n" << job[rank].output();
    EXPECT_TRUE(job[rank].says("soaking: ")) << job[rank].output();
    EXPECT_TRUE(job[rank].says("soak: ok")) << job[rank].output();
  }
}

TEST(Soak, WhatIsLeftBehindIsNoticed) {
  Job job = soak("2,leak");
  for (std::size_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(job[rank].wait(), 1) << "rank " << rank << ":\n" << job[rank].output();
    EXPECT_TRUE(job[rank].says(" at the end, in the first tenth at most ")) << job[rank].output();
  }
}

}  // namespace
}  // namespace lacuna::test
