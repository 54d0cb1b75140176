#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/check_method.hpp"
#include "algorithms/registry/registry.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/support/drawn_options.hpp"
#include "tests/support/guarded_compute.hpp"

// What must hold for every method of methods.def. The examples of the method show it.
namespace lacuna::test {
namespace {

using Numbers = std::vector<double>;

struct Example {
  const Method* method;
  MethodOptions options;
  const Algorithm* algorithm;
  std::string text;
};

std::string name_of(const testing::TestParamInfo<const Method*>& one) { return std::string(one.param->name); }

class Methods : public testing::TestWithParam<const Method*> {
 protected:
  std::vector<Example> examples(Rank size, MethodState& state) const { return examples_of(GetParam(), size, state); }
  /// Returns each example with each allreduce of a method, as far as that many ranks accept them.
  static std::vector<Example> examples_of(const Method* method, Rank size, MethodState& state) {
    std::vector<Example> all;
    for (std::string_view text : method->examples) {
      const std::string whole = fmt::format("{}:{}", method->name, text);
      const auto options = method_options(whole);
      EXPECT_TRUE(options) << options.status().to_string();
      for (const MethodAlgorithm& one : method->algorithms) {
        if (one.algorithm->collective != Collective::Allreduce) continue;
        Example example{method, *options, one.algorithm, fmt::format("{} {} P={}", one.name, whole, size)};
        if (select_algorithm(call_of(example, state), size)) all.push_back(std::move(example));
      }
    }
    return all;
  }
  static Call call_of(const Example& example, MethodState& state) {
    Call call{.collective = Collective::Allreduce, .count = 100, .dtype = Dtype::F64};
    call.options.algorithm = example.algorithm->name;
    call.options.method = example.options;
    call.options.state = &state;
    return call;
  }
};

TEST_P(Methods, HaveExamplesThatAFewRanksAcceptForEachAlgorithm) {
  MethodState state;
  std::set<const Algorithm*> served;
  std::set<std::string> texts;
  for (const Example& example : examples(4, state)) {
    served.insert(example.algorithm);
    texts.insert(example.options.text());
    EXPECT_EQ(method_options(example.options.text())->digest(), example.options.digest()) << "text and back";
  }
  EXPECT_EQ(texts.size(), GetParam()->examples.size()) << "an example that no algorithm accepts on 4 ranks";
  for (const MethodAlgorithm& one : GetParam()->algorithms) {
    EXPECT_TRUE(one.algorithm->collective != Collective::Allreduce || one.algorithm->by_hosts ||
                served.contains(one.algorithm))
        << one.name;
  }
}

TEST_P(Methods, DescribeEachMeasureOnceAndPlansTellJustTheirOwn) {
  std::set<std::string_view> names;
  std::set<MeasureRole> roles;
  for (const Measure* measure : GetParam()->measures) {
    EXPECT_TRUE(names.insert(measure->name).second) << measure->name;
    EXPECT_FALSE(measure->help.empty()) << measure->name;
    EXPECT_TRUE(measure->role == MeasureRole::None || roles.insert(measure->role).second) << measure->name;
  }
  MethodState state;
  for (const Example& example : examples(4, state)) {
    Plan plan;
    make_plan({call_of(example, state), *example.algorithm, Hosts(4), 1 << 18}, plan);
    for (const Measure* measure : GetParam()->measures) {
      EXPECT_EQ(plan.measures.times(*measure), measure->by == CountedBy::Plan ? 1u : 0u)
          << example.text << ": " << measure->name;
    }
  }
}

TEST_P(Methods, RefuseAnOptionThatIsGivenTwice) {
  for (std::string_view example : GetParam()->examples) {
    const std::string_view first = example.substr(0, example.find(','));
    const std::string_view name = first.substr(0, first.find('='));
    const Status status = method_options(fmt::format("{}:{},{}", GetParam()->name, example, first)).status();
    EXPECT_EQ(status.to_string(), fmt::format("invalid argument: {}: {} is given twice", GetParam()->name, name));
  }
}

TEST_P(Methods, HaveGraphsThatFitTogetherAlsoOfWhatFollows) {
  EXPECT_EQ(check_method(*GetParam(), 16).to_string(), "ok");
}

/// Compares the rounds that the method states for a part, and for those that follow it, with the graphs of all
/// positions.
void compare_rounds(const PlanRequest& request, const PartPlan& part, std::uint32_t length, const std::string& text) {
  const Method& method = *request.call.options.method.method();
  const MethodAlgorithm& serving = *method.find(request.algorithm);
  const Rank size = request.hosts.size();
  Graphs graphs = *graphs_of(request.algorithm, size, {.structure = part.structure});
  const std::size_t decides = graphs.at(0).tables().decides.size();
  EXPECT_EQ(serving.rounds(part, size), runtime::rounds_of(graphs.all())) << text;
  const runtime::PartCost cost = runtime::GraphCost(std::move(graphs)).of(0, request.call.count);
  EXPECT_EQ(cost.reduced, 0u) << text << ": a report would miss whose values arrive";
  EXPECT_EQ(cost.lacking, 0u) << text << ": a report would miss what does not arrive";
  if (!method.follow) return;
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 30}) {
    const std::vector<std::uint64_t> values{value, std::min(value, std::uint64_t{1} << 20)};
    if (decides != values.size()) return;
    const auto next = method.follow({.request = request, .part = part, .length = length, .values = values});
    if (next) compare_rounds(request, *next, length + 1, fmt::format("{}, what follows for {}", text, value));
  }
}

TEST_P(Methods, StateTheRoundsThatTheirGraphsHave) {
  for (Rank size = 1; size <= 17; ++size) {
    MethodState state;
    std::set<std::pair<const Algorithm*, std::string>> seen;
    for (const Example& example : examples(size, state)) {
      if (!GetParam()->find(*example.algorithm)->rounds) continue;
      for (const std::size_t count : {100u, 100'000u}) {  // the longer data have ranges to balance
        for (state.runs = 0; state.runs < 3; ++state.runs) {
          Call call = call_of(example, state);
          call.count = count;
          const Hosts hosts = size;
          const PlanRequest request{call, *example.algorithm, hosts, 256};
          Plan plan;
          make_plan(request, plan);
          for (const PartPlan& part : plan.parts) {
            if (!seen.emplace(example.algorithm, part.structure.parameters.text()).second) continue;
            compare_rounds(request, part, 1, example.text);
          }
        }
      }
    }
  }
}

TEST_P(Methods, StateTheRoundsWhereTheyStateTheBytes) {
  for (const MethodAlgorithm& one : GetParam()->algorithms) {
    EXPECT_TRUE(one.rounds || !one.predictions) << one.name << ": each report would build all positions' graphs";
  }
}

/// Makes calls of examples on all ranks, in an order that a seed draws, with a state for each rank.
struct Calls {
  Calls(Rank size, RanksOptions options) : ranks(size, options), states(size_t(size)) {}
  /// Makes three calls of an example.
  Calls(const Example& example, Rank size, RanksOptions options) : Calls(size, options) {
    for (unsigned run = 0; run < 3; ++run) call_again(example, run + 5);
  }
  /// Calls on inputs that a seed draws.
  void call_again(const Example& example, unsigned seed) {
    std::mt19937 random(seed);
    auto& input = inputs.emplace_back(states.size(), Numbers(count));
    outputs.emplace_back(states.size(), Numbers(count, 1e9));
    for (Numbers& own : input) {
      for (double& value : own) value = random() % 4 == 0 ? static_cast<double>(random() % 33) - 16 : 0;
    }
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < input.size(); ++rank) {
      Call call{.collective = Collective::Allreduce,
                .input = input[rank].data(),
                .output = outputs.back()[rank].data(),
                .count = count,
                .dtype = Dtype::F64};
      call.options.algorithm = example.algorithm->name;
      call.options.method = example.options;
      call.options.state = &states[rank];
      calls.push_back(call);
    }
    for (const Status& end : ranks.run(calls)) EXPECT_TRUE(end) << example.text << ": " << end.to_string();
  }
  static std::size_t size_t(Rank size) { return static_cast<std::size_t>(size); }
  /// Returns what a rank's state holds of earlier inputs, or nothing.
  Numbers residual(std::size_t rank) const {
    const StateArray* array = states[rank].find(residual_array);
    Numbers numbers(array ? count : 0);
    if (array) std::memcpy(numbers.data(), array->bytes.data(), array->bytes.size());
    return numbers;
  }

  static constexpr std::size_t count = 100;
  Ranks ranks;
  std::vector<MethodState> states;
  std::vector<std::vector<Numbers>> inputs, outputs;  // by run and rank
};

TEST_P(Methods, GiveTheSameBitsInWhateverOrderMessagesCome) {
  for (Rank size : {1, 2, 3, 4, 5, 8}) {
    MethodState state;
    for (const Example& example : examples(size, state)) {
      const Calls calm(example, size, drawn_options(0));
      for (std::uint64_t seed = 1; seed <= drawn_orders; ++seed) {
        const Calls stormy(example, size, drawn_options(seed * 97 + static_cast<std::uint64_t>(size)));
        ASSERT_EQ(stormy.outputs, calm.outputs) << example.text << " seed " << seed;
        for (std::size_t rank = 0; rank < calm.states.size(); ++rank) {
          ASSERT_EQ(*stormy.states[rank].save(), *calm.states[rank].save()) << example.text << " rank " << rank;
        }
      }
    }
  }
}

TEST_P(Methods, TouchOnlyWhatTheirStepsDeclare) {
  for (Rank size : {1, 2, 3, 5}) {
    MethodState state;
    for (const Example& example : examples(size, state)) {
      RanksOptions guarded = drawn_options(0);
      guarded.executor.compute = guarded_compute;
      const Calls calls(example, size, guarded), free(example, size, drawn_options(0));
      ASSERT_EQ(calls.outputs, free.outputs) << example.text;
      for (std::size_t rank = 0; rank < free.states.size(); ++rank) {
        ASSERT_EQ(*calls.states[rank].save(), *free.states[rank].save()) << example.text << " rank " << rank;
      }
    }
  }
}

/// Momentum adds to the input. It is an array of the state, beside the residual, and as long as the data.
bool adds_nothing(const MethodState& state) {
  return std::none_of(state.arrays.begin(), state.arrays.end(), [](const StateArray& array) {
    return array.own && array.name != residual_array && array.count() == Calls::count;
  });
}

TEST_P(Methods, ConserveMassWhereTheyHaveAResidual) {
  for (Rank size : {1, 2, 3, 4, 5, 8}) {
    MethodState state;
    for (const Example& example : examples(size, state)) {
      const Calls calls(example, size, drawn_options(static_cast<std::uint64_t>(size)));
      if (calls.residual(0).empty() || !adds_nothing(calls.states[0])) continue;
      Numbers put_in(Calls::count), came_out(Calls::count);
      for (std::size_t i = 0; i < Calls::count; ++i) {
        for (std::size_t run = 0; run < calls.inputs.size(); ++run) {
          for (const Numbers& input : calls.inputs[run]) put_in[i] += input[i];
          came_out[i] += calls.outputs[run][0][i];
        }
        for (std::size_t rank = 0; rank < calls.states.size(); ++rank) came_out[i] += calls.residual(rank)[i];
      }
      // Methods whose factors are rounded have an error. What is lost of whole numbers is far larger.
      for (std::size_t i = 0; i < Calls::count; ++i) ASSERT_NEAR(came_out[i], put_in[i], 1e-10) << example.text;
    }
  }
}

TEST_P(Methods, GoOnFromASavedStateWithTheSameBits) {
  MethodState state;
  for (const Example& example : examples(4, state)) {
    Calls one(example, 4, drawn_options(1)), other(example, 4, drawn_options(2));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      other.states[rank] = {};
      ASSERT_TRUE(other.states[rank].restore(*one.states[rank].save())) << example.text;
    }
    one.call_again(example, 7);
    other.call_again(example, 7);
    ASSERT_EQ(other.outputs.back(), one.outputs.back()) << example.text;
    for (std::size_t rank = 0; rank < 4; ++rank) ASSERT_EQ(*other.states[rank].save(), *one.states[rank].save());
  }
}

// The memory of a call that has ended serves the next call, which may be of another method.
TEST_P(Methods, DoWhatTheyDoAloneAfterACallOfAnyMethod) {
  MethodState state;
  for (const Example& example : examples(4, state)) {
    Calls alone(4, drawn_options(0));
    alone.call_again(example, 7);
    for (const Method* other : all_methods()) {
      for (const Example& before : examples_of(other, 4, state)) {
        if (before.algorithm != example.algorithm && before.algorithm != other->algorithms.front().algorithm) continue;
        Calls after(4, drawn_options(0));
        after.call_again(before, 5);
        after.states.assign(4, {});
        after.call_again(example, 7);
        ASSERT_EQ(after.outputs.back(), alone.outputs.back()) << example.text << " after " << before.text;
        for (std::size_t rank = 0; rank < 4; ++rank) {
          ASSERT_EQ(*after.states[rank].save(), *alone.states[rank].save()) << example.text << " after " << before.text;
        }
      }
    }
  }
}

TEST_P(Methods, MakeForCheckpointsTheArraysThatCallsMake) {
  MethodState state;
  for (const Example& example : examples(4, state)) {
    const Calls calls(example, 4, drawn_options(1));
    MethodState made;
    if (GetParam()->state) GetParam()->state(example.options.get(), Dtype::F64, Calls::count, made);
    for (const StateArray& array : calls.states[0].arrays) {
      const StateArray* there = made.find(array.name);
      ASSERT_TRUE(there) << example.text << ": a checkpoint would lack " << array.name;
      EXPECT_TRUE(there->dtype == array.dtype && there->own == array.own && there->count() == array.count());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Methods, testing::ValuesIn(all_methods().begin(), all_methods().end()), name_of);

}  // namespace
}  // namespace lacuna::test
