#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "runtime/values/philox.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test::skip_ring {

inline constexpr Rank sizes[] = {1, 2, 3, 5, 8};
inline constexpr std::size_t chunk_bytes = 128;

/// Ranks with vectors of T as buffers, and the last call's results.
template <class T>
class Rig {
 public:
  explicit Rig(Rank size) : ranks(size, options()), inputs(static_cast<std::size_t>(size)), outputs(inputs.size()) {}

  static RanksOptions options() {
    RanksOptions given{.network = {}, .executor = quick_executor()};
    given.executor.chunk_bytes = chunk_bytes;
    return given;
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
    made.options.skip_steps = skip;
    made.options.skip_mode = mode;
    return made;
  }

  /// The same call on all ranks, each with an equal sampler of its own.
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

/// Rank r gives 2^r: an element of the sum shows who contributed.
struct DecodingRig : Rig<std::int64_t> {
  DecodingRig(Rank size, std::size_t count) : Rig(size) {
    for (Rank rank = 0; rank < size; ++rank) {
      inputs[static_cast<std::size_t>(rank)].assign(count, std::int64_t{1} << rank);
    }
  }
};

/// Calls visit(element, owner) for all elements, by the definition of parts, pieces and turns.
template <class Visit>
void each_element(std::size_t count, std::size_t width, Rank size, const Sampler* sampler, Visit visit) {
  const auto p = static_cast<std::size_t>(size);
  const std::size_t parts = expected_parts(Collective::Allreduce, count * width, size, chunk_bytes);
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

}  // namespace lacuna::test::skip_ring
