#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/registry.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/drawn_options.hpp"

namespace lacuna::test {

template <class T>
inline constexpr Dtype dtype_of_data = std::is_same_v<T, double> ? Dtype::F64 : Dtype::F32;

template <class T>
using ByRank = std::vector<std::vector<T>>;

/// How a call with a method is made.
struct MethodCall {
  std::string method;  ///< with its options: "cast:to=f16"
  Collective collective = Collective::Allreduce;
  Reduction reduction = Reduction::Sum;
  bool in_place = false;
  Rank root = 0;
  std::string algorithm{};
};

/// Ranks that make calls of any method, with a state each.
class MethodRig {
 public:
  explicit MethodRig(Rank size, const RanksOptions& options = drawn_options(0))
      : states(static_cast<std::size_t>(size)), reports(states.size()), ranks(size, options) {}

  /// Makes the call on all ranks. `count` is Call::count. Returns the output of each, or nothing if a call failed.
  template <class T>
  ByRank<T> run(const ByRank<T>& inputs, std::size_t count, const MethodCall& how) {
    ByRank<T> outputs;
    std::vector<runtime::Run*> runs;
    std::vector<std::size_t> begins;
    outputs.reserve(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto rank = static_cast<Rank>(i);
      Call call{.collective = how.collective,
                .input = inputs[i].data(),
                .count = count,
                .dtype = dtype_of_data<T>,
                .reduction = how.reduction,
                .root = how.root};
      call.options.algorithm = how.algorithm;
      call.options.method = *method_options(how.method);
      call.options.state = &states[i];
      const std::size_t in = input_length(call, ranks.size()), out = output_length(call, ranks.size());
      std::vector<T>& memory = outputs.emplace_back(std::max(in, out), T(77));
      begins.push_back(how.in_place ? in_place_offsets(call, rank).output : 0);
      if (how.in_place) {
        std::copy_n(inputs[i].begin(), in,
                    memory.begin() + static_cast<std::ptrdiff_t>(in_place_offsets(call, rank).input));
        call.input = memory.data() + in_place_offsets(call, rank).input;
      }
      call.output = memory.data() + begins.back();
      runs.push_back(&must_post(ranks, rank, call));
    }
    if (!end_all(runs)) return {};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Call call{.collective = how.collective, .count = count};
      auto& output = outputs[i];
      output.erase(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(begins[i]));
      output.resize(output_length(call, ranks.size()));
    }
    return outputs;
  }
  /// An allreduce.
  template <class T>
  ByRank<T> run(const ByRank<T>& inputs, const std::string& method, Reduction reduction = Reduction::Sum) {
    return run(inputs, inputs.front().size(), {.method = method, .reduction = reduction});
  }

  double measure(std::string_view name, std::size_t rank = 0) const { return reports[rank].measures.value(name); }
  std::uint64_t sent_by_all() const {
    std::uint64_t sum = 0;
    for (const Report& report : reports) sum += report.sent;
    return sum;
  }

  template <class T>
  std::vector<T> array(std::string_view name, std::size_t rank) const {
    const StateArray* array = states[rank].find(name);
    std::vector<T> values(array ? array->bytes.size() / sizeof(T) : 0);
    if (array) array->bytes.copy_to(reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  template <class T>
  std::vector<T> residual(std::size_t rank) const {
    return array<T>(residual_array, rank);
  }

  std::vector<MethodState> states;
  std::vector<Report> reports;  // of the last run
  Ranks ranks;                  // it must end before what its calls use

 private:
  bool end_all(const std::vector<runtime::Run*>& runs) {
    const auto ended = [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); };
    EXPECT_TRUE(ranks.sweep_until(ended)) << ranks.waiting_for(runs);
    bool is_sound = true;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_TRUE(runs[i]->status) << runs[i]->status.to_string();
      is_sound = is_sound && runs[i]->status;
      if (is_sound) reports[i] = ranks.communicator(static_cast<Rank>(i)).report(*runs[i]);
    }
    for (std::size_t i = 0; is_sound && i < runs.size(); ++i) {
      auto& communicator = ranks.communicator(static_cast<Rank>(i));
      ranks.sweep_until([&] { return communicator.reclaimed(*runs[i]); });
      communicator.release(*runs[i]);
    }
    return is_sound;
  }
};

/// Small whole numbers.
template <class T>
ByRank<T> whole_inputs(std::size_t ranks, std::size_t count, unsigned seed, int most = 7) {
  std::mt19937 random(seed);
  ByRank<T> all(ranks, std::vector<T>(count));
  for (auto& one : all) {
    for (T& value : one)
      value = static_cast<T>(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most);
  }
  return all;
}

/// Numbers of very different magnitudes.
template <class T>
ByRank<T> wild_inputs(std::size_t ranks, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  ByRank<T> all(ranks, std::vector<T>(count));
  for (auto& one : all) {
    for (T& value : one) {
      value = static_cast<T>(std::ldexp(static_cast<double>(random()) - 0x1p31, static_cast<int>(random() % 24) - 43));
    }
  }
  return all;
}

/// The sum of what all ranks give, in the order of the ranks.
template <class T>
std::vector<T> sum_of_ranks(const ByRank<T>& inputs) {
  std::vector<T> sum = inputs.front();
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += inputs[rank][i];
  }
  return sum;
}

/// Why a call with this method is refused on so many ranks, or nothing.
inline std::string refusal_of(Call call, const std::string& method, Rank size = 3) {
  const auto options = method_options(method);
  if (!options) return options.status().to_string();
  call.options.method = *options;
  const auto selected = select_algorithm(call, size);
  return selected ? "" : selected.status().to_string();
}

}  // namespace lacuna::test
