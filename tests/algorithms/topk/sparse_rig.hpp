#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/registry.hpp"
#include "runtime/values/method_state.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {

/// Where ranks have elements that are not zero.
enum class Pattern { Uniform, Identical, Disjoint, OneRank, EmptyOnSome, Clustered, Bimodal, Full, Empty };
inline constexpr std::array all_patterns = {Pattern::Uniform, Pattern::Identical,   Pattern::Disjoint,
                                            Pattern::OneRank, Pattern::EmptyOnSome, Pattern::Clustered,
                                            Pattern::Bimodal, Pattern::Full,        Pattern::Empty};

using Vectors = std::vector<std::vector<float>>;  // by rank

/// Returns small whole numbers. About a tenth of them are not zero unless the pattern says otherwise.
inline Vectors sparse_inputs(Pattern pattern, std::size_t ranks, std::size_t count, unsigned seed) {
  std::mt19937 random(seed), common(seed);
  Vectors all(ranks, std::vector<float>(count));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::mt19937 same = common;
    for (std::size_t i = 0; i < count; ++i) {
      const auto draw = pattern == Pattern::Identical ? same() : random();
      const bool here = draw % 10 == 0;
      bool there = here;
      if (pattern == Pattern::Disjoint) there = here && i % ranks == rank;
      if (pattern == Pattern::OneRank) there = here && rank == ranks / 2;
      if (pattern == Pattern::EmptyOnSome) there = here && rank % 2 == 0;
      if (pattern == Pattern::Clustered) there = i < count / 10 + 1;
      if (pattern == Pattern::Bimodal) there = here && (i < count / 2) == (rank < (ranks + 1) / 2);
      if (pattern == Pattern::Full) there = true;
      if (pattern == Pattern::Empty) there = false;
      const int value = 1 + static_cast<int>(draw / 16 % 200);
      if (there) all[rank][i] = static_cast<float>(draw / 8 % 2 ? value : -value);
    }
  }
  return all;
}

/// Returns numbers whose sums are rounded, so that their order shows.
inline Vectors any_numbers(std::size_t ranks, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Vectors all(ranks, std::vector<float>(count));
  for (auto& one : all) {
    for (float& value : one) value = normal(random) * normal(random);
  }
  return all;
}

/// Returns the places of the k largest magnitudes, of equal ones the first. A zero never counts.
inline std::vector<std::size_t> largest_places(const std::vector<float>& values, std::size_t k) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places.push_back(i);
  }
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  places.resize(std::min(places.size(), k));
  std::sort(places.begin(), places.end());
  return places;
}

/// Returns the values with zeros in all other places.
inline std::vector<float> only(const std::vector<float>& values, const std::vector<std::size_t>& places) {
  std::vector<float> all(values.size());
  for (std::size_t place : places) all[place] = values[place];
  return all;
}

inline std::vector<float> sum_of(const Vectors& all) {
  std::vector<float> sum(all.front().size());
  for (const auto& one : all) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return sum;
}

/// Ranks that call a sparse method on f32, with a state each.
class SparseRig {
 public:
  explicit SparseRig(Rank size, const RanksOptions& options = {.network = {}, .executor = quick_executor()})
      : states(static_cast<std::size_t>(size)), outputs(states.size()), ranks(size, options) {}

  /// Makes an allreduce of one vector of each rank. Returns how each call ended.
  std::vector<Status> post(const Vectors& inputs, const std::string& algorithm, const std::string& options,
                           Reduction reduction = Reduction::Sum) {
    const auto asked = method_options(method + ":" + options);
    EXPECT_TRUE(asked) << asked.status().to_string();
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      outputs[rank].assign(inputs[rank].size(), 1e9f);
      Call call{.collective = Collective::Allreduce,
                .input = inputs[rank].data(),
                .output = outputs[rank].data(),
                .count = inputs[rank].size(),
                .reduction = reduction};
      call.options.algorithm = algorithm;
      call.options.method = *asked;
      call.options.state = &states[rank];
      calls.push_back(call);
    }
    return ranks.run(calls);
  }
  /// Makes the allreduce, which must go well. Returns nothing, or what went wrong.
  std::string run(const Vectors& inputs, const std::string& algorithm, const std::string& options,
                  Reduction reduction = Reduction::Sum) {
    for (const Status& status : post(inputs, algorithm, options, reduction)) {
      if (!status) return status.to_string();
    }
    return {};
  }

  /// Returns zeros if there is no residual.
  std::vector<float> residual(std::size_t rank) const {
    std::vector<float> values(outputs[rank].size());
    if (const StateArray* array = states[rank].find(residual_array)) {
      std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
    }
    return values;
  }

  /// Returns the payload that each rank has sent since the last call of this function.
  std::vector<std::uint64_t> sent() {
    std::vector<std::uint64_t> bytes, all;
    for (Rank rank = 0; rank < ranks.size(); ++rank) all.push_back(ranks.counters(rank).payload_sent);
    before.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) bytes.push_back(all[i] - std::exchange(before[i], all[i]));
    return bytes;
  }

  std::string method = "topk";
  std::vector<MethodState> states;
  Vectors outputs;
  std::vector<std::uint64_t> before;
  Ranks ranks;  // it must end before what its calls use
};

/// Lists all allreduces of topk.
inline constexpr std::array<const char*, 4> sparse_allreduces = {"sparse_allgather", "sparse_split", "sparse_ring",
                                                                 "sparse_doubling"};

}  // namespace lacuna::test
