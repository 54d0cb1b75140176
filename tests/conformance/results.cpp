#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/registry.hpp"
#include "tests/conformance/calls.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"

namespace lacuna::conformance {
namespace {

const std::vector<Rank> all_sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9};

bool lack_anything(const Calls& calls) {
  return std::any_of(calls.reports.begin(), calls.reports.end(), [](const Report& one) { return one.lacking > 0; });
}

/// Where reports say that no rank lacks anything, all ranks have the same bits.
void compare_ranks(const Calls& calls, const Example& example) {
  if (lack_anything(calls)) return;
  for (const auto& outputs : calls.outputs) {
    for (const std::size_t rank : example.ranks_with_data()) {
      demand(outputs[rank] == outputs[0], "{}: rank {} has another result than rank 0", example.text, rank);
    }
  }
}

/// Momentum adds to the input. It is an array of the state, beside the residual, and as long as the data.
bool adds_nothing(const Calls& calls) {
  const auto& arrays = calls.states[0].arrays;
  return std::none_of(arrays.begin(), arrays.end(), [&](const StateArray& array) {
    return array.own && array.name != residual_array && array.count() == calls.count;
  });
}

void check_mass(const Calls& calls, const Example& example) {
  if (calls.residual(0).empty() || !adds_nothing(calls) || lack_anything(calls)) return;
  const std::vector<std::size_t> ranks = example.ranks_with_data();
  for (std::size_t i = 0; i < calls.count; ++i) {
    double put_in = 0, came_out = 0;
    for (std::size_t run = 0; run < calls.inputs.size(); ++run) {
      for (const std::size_t rank : ranks) put_in += calls.inputs[run][rank][i];
      came_out += calls.outputs[run][0][i] * example.terms_in_result(ranks.size());
    }
    for (const std::size_t rank : ranks) came_out += calls.residual(rank)[i];
    // Methods whose factors are rounded have an error. What is lost of whole numbers is far larger.
    demand(std::abs(came_out - put_in) <= 1e-10, "{}: {} went into element {}, and {} came out", example.text, put_in,
           i, came_out);
  }
}

}  // namespace

void gives_the_same_bits(const Method& method) {
  std::uint64_t seed = 0;
  for (const Example& example : examples_of(method, all_sizes)) {
    Calls(example, test::drawn_options(++seed)).compare(Calls(example, test::drawn_options(0)), example.text);
  }
}

void serves_every_count(const Method& method) {
  for (const Example& example : examples_of(method, all_sizes, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 257})) {
    const Calls calm(example, test::drawn_options(0));
    const Calls stormy(example, test::drawn_options(example.count + 1));
    stormy.compare(calm, example.text);
    compare_ranks(calm, example);
    check_mass(calm, example);
  }
}

// 16 elements for each part: no method cuts its data into shorter blocks by itself.
void serves_every_number_of_parts(const Method& method) {
  constexpr Rank size = 2;
  for (const std::size_t parts : {1u, 63u, 64u, 65u, 1000u}) {
    const std::size_t count = 16 * parts;
    test::RanksOptions calm = test::drawn_options(0), stormy = test::drawn_options(parts);
    calm.executor.chunk_bytes = stormy.executor.chunk_bytes = count * sizeof(double) / size / std::bit_ceil(parts);
    for (const Example& example : defaults_of(method, size, count)) {
      const Calls first(example, calm), second(example, stormy);
      second.compare(first, example.text);
      compare_ranks(first, example);
      check_mass(first, example);
    }
  }
}

void writes_every_element(const Method& method) {
  for (const Example& example : examples_of(method, {1, 3, 4})) {
    Calls one(example.size(), test::drawn_options(1)), other(example.size(), test::drawn_options(1));
    one.call_again(example, 5, 1e9);
    other.call_again(example, 5, -3);
    for (const std::size_t rank : example.ranks_with_data()) {
      demand(other.outputs[0][rank] == one.outputs[0][rank], "{}: rank {} lacks elements of the result", example.text,
             rank);
    }
  }
}

void conserves_mass(const Method& method) {
  for (const Example& example : examples_of(method, all_sizes)) {
    check_mass(Calls(example, test::drawn_options(static_cast<std::uint64_t>(example.size()))), example);
  }
}

void gives_the_dense_sums(const Method& method) {
  for (const Example& example : examples_of(method, all_sizes, {1, 17, 100})) {
    MethodState state;
    const bool loses_nothing = method.lossless && method.lossless(example.call(state), example.hosts, example.count);
    if (!loses_nothing && method.is_on(example.options.get())) continue;
    Calls calls(example.size(), test::drawn_options(2), example.count);
    calls.call_again(example, 3);
    Numbers sum(example.count);
    const std::vector<std::size_t> ranks = example.ranks_with_data();
    for (const std::size_t rank : ranks) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += calls.inputs[0][rank][i];
    }
    for (double& one : sum) one /= example.terms_in_result(ranks.size());
    demand(calls.outputs[0][0] == sum, "{}: the sum, or the mean, is not exact", example.text);
  }
}

namespace {

/// The state of calls on data at one place is saved, and restored for calls on data at another.
void check_restored(const Example& example, test::OnDevice saved, test::OnDevice restored) {
  Calls one(example, test::drawn_options(1, saved)), other(example, test::drawn_options(2, restored));
  for (std::size_t rank = 0; rank < one.ranks(); ++rank) {
    other.states[rank] = {};
    demand(other.states[rank].restore(*one.states[rank].save()).is_ok(), "{}: a state is not restored", example.text);
  }
  one.call_again(example, 7);
  other.call_again(example, 7);
  other.compare_last(one, example.text);
}

}  // namespace

// States lie where the data lie, and may be restored elsewhere. Calls on the mock device take long, so these are not
// the generated ones.
void goes_on_from_a_saved_state(const Method& method) {
  using test::OnDevice;
  for (const Example& example : examples_of(method, {4})) check_restored(example, OnDevice::None, OnDevice::None);
  for (const Example& example : written_examples_of(method, 4, 100)) {
    check_restored(example, OnDevice::None, OnDevice::All);
    check_restored(example, OnDevice::All, OnDevice::Odd);
  }
}

// The memory of a call that has ended serves the next call, which may be of another method. Each example follows
// another one of each method.
void does_alone_what_it_does_after_others(const Method& method) {
  std::vector<std::vector<Example>> others;
  for (const Method* other : all_methods()) others.push_back(examples_of(*other, {4}));
  std::size_t turn = 0;
  for (const Example& example : examples_of(method, {4})) {
    Calls alone(4, test::drawn_options(0));
    alone.call_again(example, 7);
    ++turn;
    for (const std::vector<Example>& other : others) {
      const Example& before = other[turn % other.size()];
      Calls after(4, test::drawn_options(0));
      after.call_again(before, 5);
      after.states.assign(4, {});
      after.call_again(example, 7);
      after.compare_last(alone, example.text + " after " + before.text);
    }
  }
}

}  // namespace lacuna::conformance
