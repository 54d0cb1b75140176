#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/phases/sparse_kernels.hpp"
#include "algorithms/registry/gaps.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/support/calls.hpp"

// What ok_topk refuses and reports, and how it cuts the longest arrays.
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
            "invalid argument: ok_topk: density is 0 and k too; one of them must say how many");
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

/// Of what is not 0.
double least_magnitude(const std::vector<float>& values) {
  double least = std::numeric_limits<double>::infinity();
  for (float value : values) {
    if (value != 0) least = std::min<double>(least, std::abs(value));
  }
  return least;
}

TEST(OkOptions, ReportsTellThresholdsCountsBlocksAndTheBound) {
  constexpr std::size_t k = 20, count = 2000;
  OkRig rig(5, k, 3, "trigger=1");
  for (int run = 0; run < 4; ++run) {
    const Vectors inputs = gradients(5, count, static_cast<unsigned>(run));
    const bool exactly = rig.reevaluates();
    const OkExpected expected = rig.expected(inputs);
    std::vector<runtime::Run*> runs;
    for (std::size_t rank = 0; rank < 5; ++rank) {
      rig.outputs[rank].assign(count, 0);
      Call call = allreduce_call(inputs[rank], rig.outputs[rank], "ok_topk");
      call.options.method = *method_options("ok_topk:k=20,tau_prime=3,trigger=1");
      call.options.state = &rig.states[rank];
      runs.push_back(&must_post(rig.ranks, static_cast<Rank>(rank), call));
    }
    ASSERT_TRUE(rig.ranks.sweep_until(
        [&] { return std::all_of(runs.begin(), runs.end(), [](auto one) { return one->finished; }); }));
    const std::vector<std::size_t> begins = rig.ranges(count);
    const std::set<std::size_t> result = OkRig::places_of(exactly ? expected.sum : expected.result);
    std::size_t largest = 0;
    for (std::size_t i = 0; i < 5; ++i) largest = std::max(largest, OkRig::within(result, begins, i));
    for (std::size_t rank = 0; rank < 5; ++rank) {
      const Report report = rig.ranks.communicator(static_cast<Rank>(rank)).report(*runs[rank]);
      const auto number = [&](std::string_view name) {
        const auto names = ok_topk_method.numbers;
        return report.numbers[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
      };
      std::size_t contributed = 0;
      for (std::size_t place : expected.selected[rank]) contributed += expected.result[place] != 0 ? 1 : 0;
      EXPECT_EQ(report.selected, expected.selected[rank].size());
      EXPECT_EQ(report.contributed, contributed);
      EXPECT_EQ(report.kept, count - contributed);
      EXPECT_EQ(number("entries_asked"), k);
      EXPECT_EQ(number("entries_result"), static_cast<double>(OkRig::places_of(expected.result).size()));
      EXPECT_EQ(number("bound_words"), 6.0 * k * 4 / 5);
      EXPECT_EQ(number("largest_block"), static_cast<double>(largest));
      EXPECT_EQ(number("balanced"), !exactly && 5 * largest > result.size());
      EXPECT_LE(number("global_threshold"), least_magnitude(expected.result));
      EXPECT_GT(number("global_threshold"), 0);
      EXPECT_GT(number("threshold"), 0);
      EXPECT_EQ(report.dense_sent, report.dense_received);
    }
  }
}

/// As one that was saved and damaged since may hold it.
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

/// A state says which of its arrays all ranks hold alike.
TEST(OkOptions, ArraysOfARankAreItsOwnAndTheOthersAreEqual) {
  OkRig rig(3, 20, 4, "momentum=0.5");
  for (unsigned run = 0; run < 6; ++run) ASSERT_EQ(rig.run_next(gradients(3, 2000, run)), "");
  for (const StateArray& array : rig.states[0].arrays) {
    const bool own =
        array.name == "local_threshold" || array.name == residual_array || array.name == sparse::velocity_array;
    EXPECT_EQ(array.own, own) << array.name;
    for (const MethodState& other : rig.states) {
      EXPECT_TRUE(own || other.find(array.name)->bytes == array.bytes) << array.name;
    }
  }
  EXPECT_EQ(rig.states[0].arrays.size(), 4u);
}

/// In a part that is followed by another, nobody knows of a gap.
TEST(OkOptions, NoRunLacksWhatOthersGet) {
  SparseRig rig(6);
  const Vectors inputs = gradients(6, 500, 1);
  for (int run = 0; run < 3; ++run) {
    std::vector<runtime::Run*> runs;
    for (std::size_t rank = 0; rank < 6; ++rank) {
      rig.outputs[rank].assign(500, 0);
      Call call = allreduce_call(inputs[rank], rig.outputs[rank], "ok_topk");
      call.options.method = *method_options("ok_topk:k=20");
      call.options.state = &rig.states[rank];
      runs.push_back(&must_post(rig.ranks, static_cast<Rank>(rank), call));
    }
    ASSERT_TRUE(rig.ranks.sweep_until(
        [&] { return std::all_of(runs.begin(), runs.end(), [](auto one) { return one->finished; }); }));
    EXPECT_TRUE(Gaps(runtime::as_collective(*runs[2]), 6).of(2).empty()) << run;
    EXPECT_EQ(rig.ranks.communicator(2).report(*runs[2]).lacking, 0u);
  }
}

/// Runs the kernel of this name in a graph of one position, on this memory.
Status run_kernel(const Graph& graph, const PartView& view, std::string_view name, std::span<const Extent> reads,
                  std::span<const Extent> writes) {
  for (const KernelStep& step : graph.tables().kernels) {
    if (step.kernel->name != name) continue;
    Counted counted;
    return step.kernel->run({.part = view,
                             .reads = reads,
                             .writes = writes,
                             .uses = {},
                             .defines = {},
                             .given = step.given,
                             .counted = counted});
  }
  return {Code::Internal, fmt::format("no kernel {}", name)};
}

/// The kernels that lay ranges, on counts of data that no test has memory for: by a definition in wider numbers.
TEST(OkOptions, RangesOfTheLongestArraysCoverThemInOrderAndHoldAsMuch) {
  constexpr std::size_t count = 4294967295, bins = 2048;
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.algorithm = "ok_topk";
  call.options.method = *method_options("ok_topk:density=0.01");
  call.options.state = &state;
  for (Rank size : {1, 3, 7, 64, 150}) {
    const Algorithm& program = **select_algorithm(call, size);
    Plan plan;
    make_plan({call, program, Hosts(size), 1 << 18}, plan);
    const PartPlan& part = plan.parts.front();
    const Graphs graphs = *graphs_of(program, size, {.structure = part.structure});
    const PartView view{.call = call, .plan = plan, .part = part, .size = size, .position = 0, .count = count};
    std::vector<std::int64_t> counts(2 * bins), ends(2 * bins);  // nothing is uneven within a bin
    std::mt19937_64 random(3);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      counts[bin] = static_cast<std::int64_t>(random() % (random() % 8 ? 1000 : 1000000) / 2) * size;
    }
    std::vector<std::int64_t> table(3 * static_cast<std::size_t>(size));
    const auto extent = [](std::vector<std::int64_t>& words) {
      return Extent{reinterpret_cast<std::byte*>(words.data()), words.size(), Dtype::I64};
    };
    const Extent histogram[] = {extent(counts)}, partition[] = {extent(ends)}, ranges[] = {extent(table)};
    const Status parted = run_kernel(graphs.at(0), view, "partition by load", histogram, partition);
    ASSERT_TRUE(parted) << parted.to_string();
    const Status laid = run_kernel(graphs.at(0), view, "lay ranges", partition, ranges);
    ASSERT_TRUE(laid) << laid.to_string();
    const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t* range = &table[static_cast<std::size_t>(3 * i)];
      ASSERT_EQ(range[0], end);
      ASSERT_GE(range[1], range[0]);
      ASSERT_EQ(range[2], i);
      end = range[1];
      const std::int64_t wanted = (i + 1) * all / size;  // entries before its end, spread evenly in their bin
      const std::int64_t bin =
          std::min<std::int64_t>(end * static_cast<std::int64_t>(bins) / static_cast<std::int64_t>(count), bins - 1);
      std::int64_t passed = 0;
      for (std::int64_t b = 0; b < bin; ++b) passed += counts[static_cast<std::size_t>(b)];
      EXPECT_LE(passed - 1, wanted) << "P=" << size << " range " << i;
      EXPECT_GE(passed + counts[static_cast<std::size_t>(bin)] + 1, wanted) << "P=" << size << " range " << i;
    }
    EXPECT_EQ(end, static_cast<std::int64_t>(count));
  }
}

}  // namespace
}  // namespace lacuna::test
