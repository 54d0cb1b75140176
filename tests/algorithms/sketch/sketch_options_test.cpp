#include "algorithms/sketch/sketch.hpp"
#include "tests/algorithms/sketch/sketch_rig.hpp"
#include "tests/algorithms/topk/changed_messages.hpp"

// What sketch refuses, and what it chooses.
namespace lacuna::test {
namespace {

std::string refusal(Call call, const std::string& options) {
  call.collective = Collective::Allreduce;
  call.options.method = *method_options(options.empty() ? "sketch" : "sketch:" + options);
  const auto selected = select_algorithm(call, 3);
  return selected ? "" : selected.status().to_string();
}

TEST(SketchOptions, HaveDefaultsThatTheirTextLeavesOut) {
  EXPECT_EQ(sketch(Sketch()).text(), "sketch");
  EXPECT_EQ(sketch({.block = 8, .rows = 3}).text(), "sketch:block=8,rows=3");
}

TEST(SketchOptions, ThatCanNotBeAreRefusedWithWhatIsAllowed) {
  MethodState state;
  Call call{.count = 100};
  call.options.algorithm = "count_sketch";
  EXPECT_EQ(refusal(call, ""),
            "invalid argument: count_sketch needs a state, which keeps how large the last union was and counts the "
            "runs; give one, or the algorithm compaction");
  call.options.state = &state;
  EXPECT_EQ(refusal(call, ""), "");
  EXPECT_EQ(refusal(call, "rows=3"), "");
  EXPECT_EQ(refusal(call, "rows=2"),
            "invalid argument: sketch.rows is 2: a median needs an odd number of rows; give one, or estimate=mean");
  EXPECT_EQ(refusal(call, "rows=2,estimate=mean"), "");
  call.dtype = Dtype::I32;
  EXPECT_EQ(refusal(call, ""),
            "invalid argument: count_sketch of i32: the data must be of floating point; compaction takes all types");
  call.options.algorithm = "peel";
  EXPECT_EQ(refusal(call, ""), "");
  call.reduction = Reduction::Max;
  EXPECT_EQ(refusal(call, ""),
            "invalid argument: peel adds up what shares a cell: the reduction is max, must be sum or avg; compaction "
            "takes all reductions");
  call.options.algorithm = "compaction";
  call.options.state = nullptr;
  EXPECT_EQ(refusal(call, "rows=2"), "");
  call.count = std::size_t{1} << 33;
  EXPECT_EQ(
      refusal(call, "block=2"),
      "invalid argument: sketch of 4294967296 blocks of 2 elements: at most 4294967295 are allowed; give a longer "
      "block, or cut the call");
  EXPECT_EQ(refusal(call, "block=3"), "");
}

TEST(SketchOptions, AndTheDataChooseTheAlgorithmIfNoneIsNamed) {
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = 100};
  call.options.method = *method_options("sketch");
  call.options.state = &state;
  EXPECT_EQ(name_of(call, **select_algorithm(call, 4)), "count_sketch");
  call.reduction = Reduction::Min;
  EXPECT_EQ(name_of(call, **select_algorithm(call, 4)), "compaction");
  call.reduction = Reduction::Sum;
  call.dtype = Dtype::I64;
  EXPECT_EQ(name_of(call, **select_algorithm(call, 4)), "compaction");
}

TEST(SketchOptions, AStateOfAnotherMethodIsRefused) {
  MethodState state;
  state.array("last_union", Dtype::F32, 7, false);
  Call call{.collective = Collective::Allreduce, .count = 100};
  call.options.method = *method_options("sketch");
  call.options.state = &state;
  EXPECT_EQ(sketch_method.ready(call, 2).to_string(),
            "invalid argument: the last_union of this state has 7 elements of f32, this call needs 3 of i64: give each "
            "method a state of its own");
  state = {};
  state.array(residual_array, Dtype::F64, 100, true);
  EXPECT_FALSE(sketch_method.ready(call, 2));
}

TEST(SketchOptions, TheFirstCallIsLosslessUnlessASketchMayBeSmallerThanTheUnion) {
  Call call{.collective = Collective::Allreduce, .count = 1000};
  const auto is_lossless = [&](const char* algorithm, const char* options, std::size_t entries) {
    call.options.algorithm = algorithm;
    call.options.method = *method_options(options);
    return sketch_method.lossless(call, 4, entries);
  };
  EXPECT_TRUE(is_lossless("count_sketch", "sketch", 1000));
  EXPECT_TRUE(is_lossless("count_sketch", "sketch:columns=40", 10));
  EXPECT_FALSE(is_lossless("count_sketch", "sketch:columns=39", 10));
  EXPECT_FALSE(is_lossless("", "sketch:columns=39,block=4", 3));
  EXPECT_TRUE(is_lossless("compaction", "sketch:columns=39", 1000));
}

// On 2 ranks, rank 0 owns the first half of the map, and rank 1 the second.
TEST(SketchDamage, AMapWithBitsOfNoBlockIsAnErrorThatNamesItsSender) {
  const Vectors inputs(2, std::vector<float>(100, 1.0f));
  for (const char* algorithm : {"compaction", "count_sketch", "peel"}) {
    std::size_t maps = 0;
    const Status end = run_changed(inputs, algorithm, "sketch", 1, [&](Peer, Bytes& bytes) {
      if (bytes.size() == 7 && ++maps == 1) bytes.back() |= std::byte{0x80};
    });
    EXPECT_GE(maps, 1u);
    EXPECT_TRUE(says(end, "the message of rank 1: a map of 100 blocks has bits behind the last one"))
        << algorithm << ": " << end.to_string();
  }
}

}  // namespace
}  // namespace lacuna::test
