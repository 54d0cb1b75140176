#include "tests/algorithms/topk/entries_rig.hpp"
#include "tests/support/guarded_compute.hpp"
#include "tests/support/skip_call.hpp"

// These tests cover steps that no example of a method reaches. Such steps too touch only what they declare, and leave
// data to the backend.
namespace lacuna::test {
namespace {

RanksOptions unguarded() { return {.executor = quick_executor()}; }
RanksOptions guarded() {
  RanksOptions options = unguarded();
  options.executor.compute = guarded_compute;
  return options;
}

/// What is left after some runs on segments that are skipped, packed or measured.
struct OfSegments {
  OfSegments(Rank size, bool feedback, const RanksOptions& options) : states(static_cast<std::size_t>(size)) {
    Ranks ranks(size, options);
    Skip skip{.steps = size - 1};
    skip.feedback = feedback;
    skip.small = 25 * sizeof(float);
    skip.audit = 1;
    skip.audit_samples = 50;
    skip.importance_every = 2;
    std::size_t count = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      const bool is_small = i < 9 && i % 2 == 1;  // small segments are packed
      const std::size_t length = is_small ? 20 : 30;
      skip.segments.push_back({.offset = count, .count = length, .policy = SkipPolicy::Skip});
      if (i >= 9) skip.segments.back().policy = SkipPolicy::Automatic;
      count += length;
    }
    for (unsigned run = 0; run < 3; ++run) {
      const Vectors inputs = any_numbers(states.size(), count, run);
      Vectors& results = outputs.emplace_back(inputs);
      std::vector<Call> calls;
      for (std::size_t rank = 0; rank < states.size(); ++rank) {
        Call& call = calls.emplace_back();
        call = {.collective = Collective::Allreduce, .input = inputs[rank].data(), .output = results[rank].data()};
        call.count = count;
        call.options.algorithm = "skip_ring";
        call.options.method = lacuna::skip(skip);
        call.options.state = &states[rank];
      }
      expect_ok(ranks.run(calls));
    }
  }

  std::vector<MethodState> states;
  std::vector<Vectors> outputs;
};

TEST(GuardedSteps, OfSegmentsThatArePackedMeasuredAndAuditedGiveTheSameBits) {
  for (Rank size : {2, 3}) {
    for (bool feedback : {false, true}) {
      const OfSegments free(size, feedback, unguarded()), bound(size, feedback, guarded());
      ASSERT_EQ(bound.outputs, free.outputs) << size;
      for (std::size_t rank = 0; rank < free.states.size(); ++rank) {
        EXPECT_EQ(*bound.states[rank].save(), *free.states[rank].save()) << size;
      }
    }
  }
}

/// Makes inputs whose elements all lie in a part of one bin of the histogram, so that the ranks send each other
/// samples.
Vectors crowded(std::size_t ranks, std::size_t entries) {
  Vectors inputs(ranks, std::vector<float>(1 << 16));
  std::mt19937 random(3);
  for (auto& input : inputs) {
    for (std::size_t i = 0; i < entries; ++i) input[20000 + random() % 900] = static_cast<float>(1 + random() % 9);
  }
  return inputs;
}

TEST(GuardedSteps, OfRangesThatSamplesCutGiveTheSameBits) {
  const Vectors inputs = crowded(3, 300);
  for (const auto& [method, algorithm] : {std::pair{"topk", "sparse_split"}, {"ok_topk", "ok_topk"}}) {
    SparseRig free(3, unguarded()), bound(3, guarded());
    free.method = bound.method = method;
    ASSERT_EQ(free.run(inputs, algorithm, "k=300"), "");
    ASSERT_EQ(bound.run(inputs, algorithm, "k=300"), "");
    EXPECT_EQ(bound.outputs, free.outputs) << algorithm;
  }
}

TEST(GuardedSteps, NameAPlaceBeyondTheDataThatOnlyTheBackendSees) {
  for (const char* algorithm : {"sparse_allgather", "ok_topk"}) {
    EntriesRig rig(1, guarded());
    if (std::string_view(algorithm) == "ok_topk") rig.method = "ok_topk";
    const std::vector<Entries> given = {{{7, 50, 51}, {1, 2, 3}}};
    const Call call = rig.call_of(Collective::Allreduce, algorithm, "k=5", 50);
    const Status end = rig.run(call, &given, {}, 50, 0).front();
    EXPECT_NE(end.message().find("entry 1 of the input has the place 50, must be less than the number of elements, 50"),
              std::string_view::npos)
        << end.to_string();
  }
}

}  // namespace
}  // namespace lacuna::test
