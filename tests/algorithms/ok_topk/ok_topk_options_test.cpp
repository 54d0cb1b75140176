#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/phases/sparse_kernels.hpp"
#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/state_bytes.hpp"

/// What ok_topk refuses, and what its options and states do.
namespace lacuna::test {
namespace {

TEST(OkOptions, AreThoseOfThePaperUnlessTheySayOtherwise) {
  const OkTopk options;
  EXPECT_EQ(options.tau, 64u);
  EXPECT_EQ(options.tau_prime, 32u);
  EXPECT_EQ(options.trigger, 4);
  EXPECT_EQ(options.bucket, 4);
  EXPECT_EQ(options.density, 0.01);
  EXPECT_EQ(ok_topk(options).text(), "ok_topk");
}

std::string refusal(Call call, const std::string& options, Rank size = 3) {
  call.collective = Collective::Allreduce;
  call.options.method = *method_options("ok_topk:" + options);
  const auto selected = select_algorithm(call, size);
  return selected ? "" : selected.status().to_string();
}

TEST(OkOptions, ThatCanNotBeAreRefusedWithWhatIsAllowed) {
  MethodState state;
  Call call{.count = 100};
  EXPECT_EQ(refusal(call, "k=3"), "invalid argument: ok_topk needs a state, which keeps its thresholds; give one");
  call.options.state = &state;
  EXPECT_EQ(refusal(call, "k=3"), "");
  EXPECT_EQ(refusal(call, "density=0"),
            "invalid argument: ok_topk: density and k are both 0; one of them must say how many elements are sent");
  EXPECT_EQ(refusal(call, "feedback=0,momentum=0.5"),
            "invalid argument: ok_topk.momentum corrects what is fed back: it needs feedback=1");
  EXPECT_EQ(refusal(call, "k=3", 1025),
            "invalid argument: ok_topk adds the messages of all ranks at once where it balances blocks: 1025 ranks, at "
            "most 1024 are allowed, or a trigger of as many");
  EXPECT_EQ(refusal(call, "k=3,trigger=3000", 3000), "");
  call.dtype = Dtype::I32;
  EXPECT_EQ(refusal(call, "k=3"), "invalid argument: ok_topk of i32: the data must be of floating point");
  call.dtype = Dtype::F32;
  call.reduction = Reduction::Max;
  EXPECT_EQ(refusal(call, "k=3"),
            "invalid argument: ok_topk leaves out terms of a sum: the reduction is max, must be sum or avg");
  call.reduction = Reduction::Sum;
  call.count = std::size_t{1} << 32;
  EXPECT_EQ(
      refusal(call, "k=3"),
      "invalid argument: ok_topk of 4294967296 elements: places have 32 bits, at most 4294967295 are allowed; cut "
      "the call");
  EXPECT_EQ(method_options("ok_topk:tau=0").status().to_string(),
            "invalid argument: ok_topk: tau is 0, must be 1 .. 1000000000000000");
}

TEST(OkOptions, AStateOfAnotherTensorIsRefusedBeforeAnythingIsSent) {
  MethodState state;
  Call call{.count = 1 << 20};
  call.options.state = &state;
  state.array("partition", Dtype::I64, 64, false);
  EXPECT_EQ(
      refusal(call, "k=3"),
      "invalid argument: the partition of this state has 512 bytes of i64, this call needs 8192 of i64: give each "
      "tensor a state of its own");
  call.count = 1000;
  EXPECT_EQ(refusal(call, "k=3"), "");
  state.array("local_threshold", Dtype::F32, 1, true);
  EXPECT_EQ(refusal(call, "k=3"),
            "invalid argument: the local_threshold of this state has 4 bytes of f32, this call needs 40 of f64: give "
            "each tensor a state of its own");
}

TEST(OkOptions, AStateThatWasRestoredIsCheckedWhereAPreparedCallStarts) {
  std::vector<float> data(100, 1), sum(100);
  MethodState state, shorter;
  shorter.array("local_threshold", Dtype::F64, 3, true);
  Ranks ranks(1);
  Call call = allreduce_call(data, sum, "ok_topk");
  call.options.method = *method_options("ok_topk:k=3");
  call.options.state = &state;
  runtime::Run* run = *ranks.communicator(0).prepare(call, **select_algorithm(call, 1));
  ASSERT_TRUE(state.restore(*shorter.save()));
  EXPECT_EQ(ranks.communicator(0).start(*run).to_string(),
            "invalid argument: the local_threshold of this state has 24 bytes of f64, this call needs 40 of f64: give "
            "each tensor a state of its own");
  EXPECT_EQ(state.runs, 0u);
  ASSERT_TRUE(state.restore(*MethodState().save()));
  ASSERT_EQ(ranks.communicator(0).start(*run).to_string(), "ok");
  ASSERT_TRUE(ranks.sweep_until([&] { return run->finished; }));
  EXPECT_EQ(std::count(sum.begin(), sum.end(), 1.0f), 3);
  ranks.communicator(0).release(*run);
}

TEST(OkOptions, MomentumFeedsAVelocityBackWhichIsMaskedWhereItReachedTheResult) {
  for (bool masks : {true, false}) {
    SparseRig rig(3);
    rig.method = "ok_topk";
    Vectors velocity(3, std::vector<float>(60)), acc = velocity;
    for (unsigned run = 0; run < 5; ++run) {
      const Vectors inputs = sparse_inputs(Pattern::Full, 3, 60, run);
      Vectors sent;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        for (std::size_t i = 0; i < 60; ++i) {
          velocity[rank][i] = 0.5f * velocity[rank][i] + inputs[rank][i];
          acc[rank][i] += velocity[rank][i];
        }
        sent.push_back(only(acc[rank], largest_places(acc[rank], 6)));
      }
      const std::vector<float> sum = sum_of(sent), result = only(sum, largest_places(sum, 6));
      ASSERT_EQ(rig.run(inputs, "ok_topk", fmt::format("k=6,tau_prime=1,momentum=0.5,masking={}", masks ? 1 : 0)), "");
      for (std::size_t rank = 0; rank < 3; ++rank) {
        for (std::size_t i = 0; i < 60; ++i) {
          if (sent[rank][i] == 0 || result[i] == 0) continue;
          acc[rank][i] = 0;
          if (masks) velocity[rank][i] = 0;
        }
        std::vector<float> there(60);
        std::memcpy(there.data(), rig.states[rank].find("velocity")->bytes.data(), 240);
        ASSERT_EQ(rig.outputs[rank], result) << run;
        ASSERT_EQ(there, velocity[rank]) << run;
        ASSERT_EQ(rig.residual(rank), acc[rank]) << run;
      }
    }
  }
}

/// A state that was saved and then damaged may hold such a partition.
TEST(OkOptions, APartitionThatNoRanksCanHaveLeftIsAnError) {
  const std::tuple<std::size_t, std::int64_t, std::string> changes[] = {
      {0, 65, "has 65 stretches, must be 0 .. 64"},
      {0, -1, "has -1 stretches, must be 0 .. 64"},
      {2, 2001, "of 2000 places ends stretch 2 at 2001, "},
      {2, -1, "of 2000 places ends stretch 2 at -1, "},
      {63, 0, "of 2000 places ends stretch 63 at 0, "}};
  for (const auto& [word, value, text] : changes) {
    OkRig rig(2, 20, 100);
    ASSERT_EQ(rig.run_next(gradients(2, 2000, 1)), "");
    for (MethodState& state : rig.states) {
      for (StateArray& array : state.arrays) {
        if (array.name == "partition") std::memcpy(array.bytes.data() + 8 * word, &value, sizeof(value));
      }
    }
    for (const Status& end : rig.post(gradients(2, 2000, 2), "ok_topk", "k=20,tau_prime=100")) {
      EXPECT_EQ(end.code(), Code::Mismatch);
      EXPECT_NE(end.message().find("the state's partition " + text), std::string::npos) << end.to_string();
    }
  }
}

/// A state says which of its arrays are equal on all ranks.
TEST(OkOptions, ArraysOfARankAreItsOwnAndTheOthersAreEqual) {
  OkRig rig(3, 20, 4, "momentum=0.5");
  for (unsigned run = 0; run < 6; ++run) ASSERT_EQ(rig.run_next(gradients(3, 2000, run)), "");
  for (const StateArray& array : rig.states[0].arrays) {
    const bool own =
        array.name == "local_threshold" || array.name == residual_array || array.name == sparse::velocity_array;
    EXPECT_EQ(array.own, own) << array.name;
    for (const MethodState& other : rig.states) {
      EXPECT_TRUE(own || bytes_of(other, array.name) == bytes_of(rig.states[0], array.name)) << array.name;
    }
  }
  EXPECT_EQ(rig.states[0].arrays.size(), 4u);
}

}  // namespace
}  // namespace lacuna::test
