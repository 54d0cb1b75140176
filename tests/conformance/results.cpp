#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/registry.hpp"
#include "tests/conformance/calls.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"

namespace lacuna::conformance {
namespace {

constexpr Rank most_ranks = 9;

/// Counts of elements around those of ranks, and primes.
std::set<std::size_t> counts_of(Rank size) {
  const auto p = static_cast<std::size_t>(size);
  return {0, 1, p - 1, p + 1, 17, 257};
}

/// Where reports say that no rank lacks anything, all ranks have the same bits.
void compare_ranks(const Calls& calls, const std::string& text) {
  const auto lacks = [](const Report& report) { return report.lacking > 0; };
  if (std::any_of(calls.reports.begin(), calls.reports.end(), lacks)) return;
  for (const auto& outputs : calls.outputs) {
    for (std::size_t rank = 1; rank < outputs.size(); ++rank) {
      demand(outputs[rank] == outputs[0], "{}: rank {} has another result than rank 0", text, rank);
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

void check_mass(const Calls& calls, const std::string& text) {
  if (calls.residual(0).empty() || !adds_nothing(calls)) return;
  for (std::size_t i = 0; i < calls.count; ++i) {
    double put_in = 0, came_out = 0;
    for (std::size_t run = 0; run < calls.inputs.size(); ++run) {
      for (const Numbers& input : calls.inputs[run]) put_in += input[i];
      came_out += calls.outputs[run][0][i];
    }
    for (std::size_t rank = 0; rank < calls.ranks(); ++rank) came_out += calls.residual(rank)[i];
    // Methods whose factors are rounded have an error. What is lost of whole numbers is far larger.
    demand(std::abs(came_out - put_in) <= 1e-10, "{}: {} went into element {}, and {} came out", text, put_in, i,
           came_out);
  }
}

}  // namespace

void gives_the_same_bits(const Method& method) {
  for (Rank size = 1; size <= most_ranks; ++size) {
    for (const Example& example : examples_of(method, size)) {
      const Calls calm(example, size, test::drawn_options(0));
      for (std::uint64_t seed = 1; seed <= test::drawn_orders; ++seed) {
        const Calls stormy(example, size, test::drawn_options(seed * 97 + static_cast<std::uint64_t>(size)));
        stormy.compare(calm, fmt::format("{}, order {}", example.text, seed));
      }
    }
  }
}

void serves_every_count(const Method& method) {
  for (Rank size = 1; size <= most_ranks; ++size) {
    for (const std::size_t count : counts_of(size)) {
      for (const Example& example : examples_of(method, size, count)) {
        const Calls calm(example, size, test::drawn_options(0), count);
        const Calls stormy(example, size, test::drawn_options(count + 1), count);
        stormy.compare(calm, example.text);
        compare_ranks(calm, example.text);
        check_mass(calm, example.text);
      }
    }
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
      const Calls first(example, size, calm, count), second(example, size, stormy, count);
      second.compare(first, example.text);
      compare_ranks(first, example.text);
      check_mass(first, example.text);
    }
  }
}

void writes_every_element(const Method& method) {
  for (Rank size : {1, 3, 4}) {
    for (const Example& example : examples_of(method, size)) {
      Calls one(size, test::drawn_options(1)), other(size, test::drawn_options(1));
      one.call_again(example, 5, 1e9);
      other.call_again(example, 5, -3);
      other.compare_last(one, example.text + ", whose output held other numbers");
    }
  }
}

void conserves_mass(const Method& method) {
  for (Rank size = 1; size <= most_ranks; ++size) {
    for (const Example& example : examples_of(method, size)) {
      check_mass(Calls(example, size, test::drawn_options(static_cast<std::uint64_t>(size))), example.text);
    }
  }
}

// States lie where the data lie, and may be restored elsewhere.
void goes_on_from_a_saved_state(const Method& method) {
  using test::OnDevice;
  constexpr std::pair<OnDevice, OnDevice> places[] = {
      {OnDevice::None, OnDevice::None}, {OnDevice::None, OnDevice::All}, {OnDevice::All, OnDevice::Odd}};
  for (const Example& example : examples_of(method, 4)) {
    for (const auto& [saved, restored] : places) {
      Calls one(example, 4, test::drawn_options(1, saved)), other(example, 4, test::drawn_options(2, restored));
      for (std::size_t rank = 0; rank < 4; ++rank) {
        other.states[rank] = {};
        demand(other.states[rank].restore(*one.states[rank].save()).is_ok(), "{}: a state is not restored",
               example.text);
      }
      one.call_again(example, 7);
      other.call_again(example, 7);
      other.compare_last(one, example.text);
    }
  }
}

// The memory of a call that has ended serves the next call, which may be of another method.
void does_alone_what_it_does_after_others(const Method& method) {
  for (const Example& example : examples_of(method, 4)) {
    Calls alone(4, test::drawn_options(0));
    alone.call_again(example, 7);
    for (const Method* other : all_methods()) {
      for (const Example& before : examples_of(*other, 4)) {
        if (before.algorithm != example.algorithm && before.algorithm != other->algorithms.front().algorithm) continue;
        Calls after(4, test::drawn_options(0));
        after.call_again(before, 5);
        after.states.assign(4, {});
        after.call_again(example, 7);
        after.compare_last(alone, example.text + " after " + before.text);
      }
    }
  }
}

}  // namespace lacuna::conformance
