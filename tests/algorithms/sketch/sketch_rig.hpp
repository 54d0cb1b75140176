#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "algorithms/phases/feedback.hpp"
#include "kernels/elements.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/drawn_options.hpp"

namespace lacuna::test {

template <class T>
inline constexpr Dtype dtype_of = Dtype::F32;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::F64;
template <>
inline constexpr Dtype dtype_of<std::int32_t> = Dtype::I32;
template <>
inline constexpr Dtype dtype_of<std::int64_t> = Dtype::I64;

template <class T>
using Arrays = std::vector<std::vector<T>>;  // by rank

/// How a call is made.
struct How {
  std::string algorithm;
  std::string options = "";  ///< of sketch, "name=value,..."
  Reduction reduction = Reduction::Sum;
  bool in_place = false;
};

/// Ranks that make allreduces by sketch, with a state each.
class SketchRig {
 public:
  explicit SketchRig(Rank size, const RanksOptions& options = drawn_options(0))
      : states(static_cast<std::size_t>(size)), reports(states.size()), ranks(size, options) {}

  /// Makes the call on all ranks. Returns the output of each, or nothing if a call failed.
  template <class T>
  Arrays<T> run(const Arrays<T>& inputs, const How& how) {
    Arrays<T> outputs = inputs;
    for (auto& output : outputs) {
      if (!how.in_place) std::fill(output.begin(), output.end(), T(77));
    }
    std::vector<runtime::Run*> runs;
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      Call call{.collective = Collective::Allreduce,
                .input = how.in_place ? outputs[rank].data() : inputs[rank].data(),
                .output = outputs[rank].data(),
                .count = inputs[rank].size(),
                .dtype = dtype_of<T>,
                .reduction = how.reduction};
      call.options.algorithm = how.algorithm;
      call.options.method = *method_options(how.options.empty() ? "sketch" : "sketch:" + how.options);
      call.options.state = &states[rank];
      runs.push_back(&must_post(ranks, static_cast<Rank>(rank), call));
    }
    const auto ended = [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); };
    EXPECT_TRUE(ranks.sweep_until(ended)) << ranks.waiting_for(runs);
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      auto& communicator = ranks.communicator(static_cast<Rank>(rank));
      EXPECT_TRUE(runs[rank]->status) << runs[rank]->status.to_string();
      if (!runs[rank]->status) return {};
      reports[rank] = communicator.report(*runs[rank]);
    }
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      auto& communicator = ranks.communicator(static_cast<Rank>(rank));
      ranks.sweep_until([&] { return communicator.reclaimed(*runs[rank]); });
      communicator.release(*runs[rank]);
    }
    return outputs;
  }

  double measure(std::string_view name, std::size_t rank = 0) const { return reports[rank].measures.value(name); }

  template <class T>
  std::vector<T> residual(std::size_t rank) const {
    const StateArray* array = states[rank].find(residual_array);
    std::vector<T> values(array ? array->count() : 0);
    if (array) std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
    return values;
  }

  std::vector<MethodState> states;
  std::vector<Report> reports;  // of the last run
  Ranks ranks;                  // it must end before what its calls use
};

/// Small whole numbers that are not zero in this share of the places, which a rank draws for itself.
template <class T>
Arrays<T> drawn_inputs(std::size_t ranks, std::size_t count, double share, unsigned seed) {
  std::mt19937 random(seed);
  Arrays<T> all(ranks, std::vector<T>(count));
  for (auto& one : all) {
    for (T& value : one) {
      const bool is_there = static_cast<double>(random() % 10000) < share * 10000;
      const int number = static_cast<int>(random() % 7) - 3;
      if (is_there) value = static_cast<T>(number == 0 ? 4 : number);
    }
  }
  return all;
}

/// The sum in the order of ranks.
template <class T>
std::vector<T> sum_of_all(const Arrays<T>& inputs) {
  std::vector<T> sum(inputs.front().size());
  for (const auto& one : inputs) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<T>(sum[i] + one[i]);
  }
  return sum;
}

/// Elements of the blocks in which some rank has a number that is not zero.
template <class T>
std::size_t union_of(const Arrays<T>& inputs, std::size_t block = 1) {
  const std::size_t count = inputs.front().size();
  std::size_t elements = 0;
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t end = std::min(count, begin + block);
    bool is_there = false;
    for (const auto& one : inputs) {
      for (std::size_t i = begin; i < end; ++i) is_there = is_there || one[i] != T{};
    }
    elements += is_there ? end - begin : 0;
  }
  return elements;
}

template <class T>
double norm_of(const std::vector<T>& values) {
  double sum = 0;
  for (T value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}
template <class T>
double relative_error(const std::vector<T>& got, const std::vector<T>& expected) {
  std::vector<double> off;
  for (std::size_t i = 0; i < got.size(); ++i) {
    off.push_back(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
  }
  return norm_of(off) / norm_of(expected);
}

}  // namespace lacuna::test
