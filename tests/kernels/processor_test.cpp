#include "kernels/processor.hpp"

#include <gtest/gtest.h>

namespace lacuna::kernels {
namespace {

/// What a processor of AMD's Zen 4 says about itself under Linux.
constexpr ProcessorFeatures zen_4 = {
    .leaf_1_ecx = 0xfffa3203u, .leaf_7_ebx = 0xf1bf07abu, .extended_ecx = 0x004003f3u, .saved = 0xe7};

/// The features without one bit.
ProcessorFeatures without(std::uint32_t ProcessorFeatures::*leaf, unsigned bit) {
  ProcessorFeatures features = zen_4;
  features.*leaf &= ~(std::uint32_t{1} << bit);
  return features;
}

bool runs_v3(const ProcessorFeatures& features) { return runs(features, "x86-64-v3"); }
bool runs_v4(const ProcessorFeatures& features) { return runs(features, "x86-64-v4"); }

TEST(Processor, OneThatHasEverythingRunsBothLevels) {
  EXPECT_TRUE(runs_v3(zen_4));
  EXPECT_TRUE(runs_v4(zen_4));
}

TEST(Processor, NothingRunsALevelThatIsNotKnown) {
  EXPECT_FALSE(runs(zen_4, "x86-64-v5"));
  EXPECT_FALSE(runs(zen_4, ""));
}

TEST(Processor, NoLevelRunsWhereAnInstructionOfTheSecondOrThirdIsMissing) {
  for (unsigned bit : {0u, 9u, 12u, 13u, 19u, 20u, 22u, 23u, 27u, 28u, 29u}) {
    EXPECT_FALSE(runs_v3(without(&ProcessorFeatures::leaf_1_ecx, bit))) << bit;
    EXPECT_FALSE(runs_v4(without(&ProcessorFeatures::leaf_1_ecx, bit))) << bit;
  }
  for (unsigned bit : {3u, 5u, 8u}) EXPECT_FALSE(runs_v3(without(&ProcessorFeatures::leaf_7_ebx, bit))) << bit;
  for (unsigned bit : {0u, 5u}) EXPECT_FALSE(runs_v3(without(&ProcessorFeatures::extended_ecx, bit))) << bit;
}

TEST(Processor, TheThirdLevelOnlyRunsWhereAnInstructionOfTheFourthIsMissing) {
  for (unsigned bit : {16u, 17u, 28u, 30u, 31u}) {
    const ProcessorFeatures features = without(&ProcessorFeatures::leaf_7_ebx, bit);
    EXPECT_TRUE(runs_v3(features)) << bit;
    EXPECT_FALSE(runs_v4(features)) << bit;
  }
}

TEST(Processor, NoLevelRunsUnlessTheSystemSavesItsRegisters) {
  ProcessorFeatures features = zen_4;
  for (std::uint64_t saved : {0x0u, 0x3u, 0x5u, 0xe1u, 0xe3u}) {
    features.saved = saved;
    EXPECT_FALSE(runs_v3(features)) << saved;
    EXPECT_FALSE(runs_v4(features)) << saved;
  }
  for (std::uint64_t saved : {0x7u, 0x27u, 0x67u, 0xa7u, 0xc7u}) {
    features.saved = saved;
    EXPECT_TRUE(runs_v3(features)) << saved;
    EXPECT_FALSE(runs_v4(features)) << saved;
  }
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
TEST(Processor, ThisOneIsJudgedAsTheCompilersOwnTestJudgesIt) {
  EXPECT_EQ(runs_v3(this_processor()), __builtin_cpu_supports("x86-64-v3") != 0);
  EXPECT_EQ(runs_v4(this_processor()), __builtin_cpu_supports("x86-64-v4") != 0);
}
#endif

}  // namespace
}  // namespace lacuna::kernels
