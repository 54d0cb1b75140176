#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/support/calls.hpp"

// When ok_topk balances the blocks of its result, and that balancing changes nothing else.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 6400;

/// Selections are spread evenly. The sums that remain of them lie in one range, so that its block is the largest.
Vectors winners_in_one_range(std::size_t ranks, int run) {
  Vectors all(ranks, std::vector<float>(count));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; i += 20) {
      const bool wins = i < count / ranks;
      const auto mine = static_cast<float>(100 + (i / 20 + rank + static_cast<std::size_t>(run)) % 50);
      all[rank][i] = wins || rank == 0 ? mine : -mine / static_cast<float>(ranks - 1);
      if (!wins) all[rank][i] = std::round(all[rank][i]);
    }
  }
  return all;
}

/// Makes the next run, in which all ranks call with these options, and returns its reports.
std::vector<Report> reports_of(OkRig& rig, const Vectors& inputs, const std::string& options) {
  std::vector<runtime::Run*> runs;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    rig.outputs[rank].assign(inputs[rank].size(), 0);
    Call call = allreduce_call(inputs[rank], rig.outputs[rank], "ok_topk");
    call.options.method = *method_options("ok_topk:" + options);
    call.options.state = &rig.states[rank];
    runs.push_back(&must_post(rig.ranks, static_cast<Rank>(rank), call));
  }
  EXPECT_TRUE(rig.ranks.sweep_until(
      [&] { return std::all_of(runs.begin(), runs.end(), [](auto run) { return run->finished; }); }));
  std::vector<Report> reports;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    EXPECT_TRUE(runs[rank]->status) << runs[rank]->status.to_string();
    reports.push_back(rig.ranks.communicator(static_cast<Rank>(rank)).report(*runs[rank]));
  }
  return reports;
}

double number(const Report& report, std::string_view name) {
  EXPECT_NE(find(report.measures.table(), name), nullptr) << name;
  return report.measures.value(name);
}

/// The largest block of the result, and the mean of all blocks, by the ranges that the state tells.
struct Shape {
  double largest, mean;
};
Shape shape_of(const OkRig& rig, const std::vector<float>& result) {
  const std::vector<std::size_t> begins = rig.ranges(result.size());
  Shape shape{0, static_cast<double>(places_of(result).size()) / static_cast<double>(begins.size() - 1)};
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    double block = 0;
    for (std::size_t place = begins[i]; place < begins[i + 1]; ++place) block += result[place] != 0;
    shape.largest = std::max(shape.largest, block);
  }
  return shape;
}

TEST(OkBalance, HappensWhereTheLargestBlockIsAboveTheTriggerAndOnlyThere) {
  int balanced = 0, direct = 0;
  for (Rank size : {2, 3, 5, 6, 8, 12}) {
    for (double trigger : {1.0, 2.0, 4.0, 20.0}) {
      OkRig rig(size, 0, 0);
      for (int run = 0; run < 5; ++run) {
        const Vectors inputs = run % 2 ? gradients(rig.states.size(), count, static_cast<unsigned>(run))
                                       : winners_in_one_range(rig.states.size(), run);
        const bool exactly = run == 0;
        const auto reports = reports_of(rig, inputs, fmt::format("k=200,tau_prime=100,trigger={}", trigger));
        const Shape shape = shape_of(rig, rig.outputs[0]);
        const bool uneven = !exactly && shape.largest > trigger * shape.mean && size > trigger;
        for (const Report& report : reports) {
          ASSERT_EQ(number(report, "balanced"), uneven ? 1 : 0) << "P=" << size << " " << trigger << " run " << run;
          if (exactly) continue;
          ASSERT_EQ(number(report, "largest_block"), shape.largest);
        }
        (uneven ? balanced : direct) += 1;
      }
    }
  }
  EXPECT_GT(balanced, 10);
  EXPECT_GT(direct, 10);
}

/// The result has 40 entries, so a block of 20 is twice the mean of four ranks.
TEST(OkBalance, DoesNotHappenWhereTheLargestBlockIsJustTheTrigger) {
  for (std::size_t more : {0u, 1u}) {
    OkRig rig(4, 40, 100, "feedback=0");
    const auto inputs = [](const std::array<std::size_t, 4>& blocks, std::size_t apart) {
      std::vector<float> values(count);
      for (std::size_t range = 0; range < 4; ++range) {
        for (std::size_t i = 0; i < blocks[range]; ++i) values[range * count / 4 + apart * i] = 1000;
      }
      return Vectors(4, values);
    };
    reports_of(rig, inputs({10, 10, 10, 10}, 50), "k=40,tau_prime=100,trigger=2,feedback=0");
    const auto reports =
        reports_of(rig, inputs({20 + more, 10 - more, 10, 0}, 20), "k=40,tau_prime=100,trigger=2,feedback=0");
    const Shape shape = shape_of(rig, rig.outputs[0]);
    EXPECT_EQ(shape.mean, 10);
    EXPECT_EQ(shape.largest, 20 + static_cast<double>(more));
    for (const Report& report : reports) EXPECT_EQ(number(report, "balanced"), more);
  }
}

TEST(OkBalance, ChangesNoBitOfTheResultAndOfWhatIsKept) {
  for (Rank size : {2, 3, 5, 7, 8, 12}) {
    OkRig never(size, 150, 50, "trigger=1000"), always(size, 150, 50, "trigger=1,bucket=2");
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    for (int run = 0; run < 6; ++run) {
      Vectors inputs = winners_in_one_range(never.states.size(), run);
      for (auto& input : inputs) {
        for (float& value : input) value += normal(random) * normal(random);
      }
      ASSERT_EQ(never.run_next(inputs), "");
      ASSERT_EQ(always.run_next(inputs), "");
      ASSERT_EQ(never.outputs, always.outputs) << "P=" << size << " run " << run;
      for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
        ASSERT_EQ(*never.states[rank].save(), *always.states[rank].save()) << "P=" << size << " run " << run;
      }
    }
  }
}

/// Each rank first sends to others what they are to hold of its block. Then all ranks send equally many entries to all
/// others, up to one entry.
TEST(OkBalance, MovesWhatARankHasMoreThanItsShare) {
  for (std::size_t p : {2u, 3u, 5u, 8u}) {
    for (const auto* trigger : {"1", "1000"}) {
      OkRig rig(static_cast<Rank>(p), 200, 100, fmt::format("trigger={},feedback=0,format=coordinates", trigger));
      ASSERT_EQ(rig.run_next(winners_in_one_range(p, 0)), "");
      rig.sent();
      const Vectors inputs = winners_in_one_range(p, 1);
      const OkExpected expected = rig.expected(inputs);
      ASSERT_EQ(rig.run_next(inputs), "");
      ASSERT_EQ(rig.outputs[0], expected.result);
      ASSERT_FALSE(places_of(expected.result).empty());
      const bool balances = *trigger == '1' && trigger[1] == 0;
      EXPECT_EQ(rig.sent(), rig.sent_by_definition(expected, false, false, balances)) << "P=" << p;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
