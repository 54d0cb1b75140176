#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skipping.hpp"
#include "runtime/values/philox.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {

inline constexpr Rank skip_sizes[] = {1, 2, 3, 5, 8};
inline constexpr std::size_t skip_chunk_bytes = 128;

/// Ranks with vectors of T as buffers, and the last call's results.
template <class T>
class SkipRig {
 public:
  explicit SkipRig(Rank size, const std::vector<Rank>& hosts = {}, std::size_t chunk_bytes = skip_chunk_bytes)
      : ranks(size, options(hosts, chunk_bytes)), inputs(static_cast<std::size_t>(size)), outputs(inputs.size()) {}

  static RanksOptions options(const std::vector<Rank>& hosts, std::size_t chunk_bytes) {
    RanksOptions given{.network = {}, .executor = quick_executor(), .hosts = hosts};
    given.executor.chunk_bytes = chunk_bytes;
    return given;
  }

  /// Returns calls that change(call, rank) has filled in, with outputs as long as they need.
  template <class Change>
  std::vector<Call> calls_with(const Call& like, Change change) {
    std::vector<Call> all;
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      Call call = like;
      const std::size_t blocks = like.collective == Collective::ReduceScatter ? inputs.size() : 1;
      call.count = inputs[i].size() / blocks;
      call.input = inputs[i].data();
      outputs[i].assign(output_length(call, ranks.size()), T{});
      call.output = outputs[i].data();
      change(call, rank);
      all.push_back(call);
    }
    return all;
  }
  std::vector<Call> calls_with(const Call& like) {
    return calls_with(like, [](Call&, Rank) {});
  }

  /// Rank r gives 2^r in each of `count` elements, so that a sum shows who contributed.
  void decode(std::size_t count) {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) inputs[rank].assign(count, static_cast<T>(1 << rank));
  }
  /// Fills inputs with small integers.
  void fill(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    for (auto& input : inputs) {
      input.resize(count);
      for (T& value : input) value = static_cast<T>(static_cast<int>(random() % 33) - 16);
    }
  }
  void fill_normal(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<T> normal;
    for (auto& input : inputs) {
      input.resize(count);
      for (T& value : input) value = normal(random);
    }
  }

  Call call(Rank rank, Dtype dtype, const char* algorithm, int skip, SkipMode mode = SkipMode::Static) {
    const auto i = static_cast<std::size_t>(rank);
    outputs[i].assign(inputs[i].size(), T{});
    Call made;
    made.collective = Collective::Allreduce;
    made.input = inputs[i].data();
    made.output = outputs[i].data();
    made.count = inputs[i].size() * sizeof(T) / size_of(dtype);
    made.dtype = dtype;
    made.options.algorithm = algorithm;
    skip_in(made)->steps = skip;
    skip_in(made)->mode = mode;
    return made;
  }

  /// Returns the same call for all ranks, each with an equal sampler of its own.
  std::vector<Call> calls(Dtype dtype, const char* algorithm, int skip, SkipMode mode = SkipMode::Static,
                          const Sampler& sampler = {}) {
    samplers.assign(inputs.size(), sampler);
    std::vector<Call> all;
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      all.push_back(call(rank, dtype, algorithm, skip, mode));
      all.back().options.sampler = &samplers[static_cast<std::size_t>(rank)];
    }
    return all;
  }

  void run(const std::vector<Call>& all) {
    for (const Status& status : ranks.run(all)) ASSERT_TRUE(status) << status.to_string();
  }

  Ranks ranks;
  std::vector<std::vector<T>> inputs, outputs;
  std::vector<Sampler> samplers;
};

/// Rank r gives 2^r, so that an element of the sum shows who contributed.
struct DecodingRig : SkipRig<std::int64_t> {
  DecodingRig(Rank size, std::size_t count) : SkipRig(size) { decode(count); }
};

/// Returns the algorithms that can skip.
inline std::vector<const Algorithm*> skipping_algorithms(std::optional<Collective> collective = {}) {
  std::vector<const Algorithm*> some;
  for (const Algorithm* algorithm : all_algorithms()) {
    if (skipping_of(*algorithm) && collective.value_or(algorithm->collective) == algorithm->collective) {
      some.push_back(algorithm);
    }
  }
  return some;
}

/// Calls visit(element, owner) for all elements, by the definition of parts, pieces and rotations.
template <class Visit>
void each_element(std::size_t count, std::size_t width, Rank size, const Sampler* sampler, Visit visit) {
  const auto p = static_cast<std::size_t>(size);
  const std::size_t parts = expected_parts(Collective::Allreduce, count * width, size, skip_chunk_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = exact_boundary(part, count, parts);
    const std::size_t length = exact_boundary(part + 1, count, parts) - begin;
    const Rank turn = sampler ? static_cast<Rank>(bounded_draw(*sampler, static_cast<std::uint32_t>(part),
                                                               static_cast<std::uint32_t>(size)))
                              : 0;
    for (std::size_t piece = 0; piece < p; ++piece) {
      for (std::size_t i = exact_boundary(piece, length, p); i < exact_boundary(piece + 1, length, p); ++i) {
        visit(begin + i, (static_cast<Rank>(piece) + turn) % size);
      }
    }
  }
}

}  // namespace lacuna::test
