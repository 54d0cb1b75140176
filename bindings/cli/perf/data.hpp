#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bindings/cli/shared/pattern.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// Returns what `lacuna perf` puts into a rank's input of this call. These are whole numbers so small that the result
/// of up to 4096 ranks is exact in every dtype. They have no regularity, so that a result in the wrong place is wrong.
/// With a pattern they are zero except where it says.
double perf_value(const Call& call, Rank rank, std::size_t element, const Pattern* pattern = nullptr);

/// Where blocks differ in length, `call` gets tables in `counts`. The lengths grow from block to block, from nothing to
/// twice the mean. The count of `call` is the mean of the blocks at first, and becomes that of this rank's block.
void give_tables(Call& call, Rank rank, Rank size, std::vector<std::size_t>& counts);

/// Fills an input. Returns how many elements are not zero.
std::size_t fill_input(const Call& call, Rank rank, std::span<std::byte> input, const Pattern* pattern = nullptr);

/// A result to be checked: the call as it was started, its sampler before it was started, and where it ran.
struct PerfResult {
  const Call& call;
  const Sampler& sampler;
  Rank rank;
  Rank size;
  std::size_t chunk_bytes;
  Hosts hosts{};                     ///< none: all ranks are on one host
  const Pattern* pattern = nullptr;  ///< where the inputs are not zero
};

/// Returns how many elements of the output are not exactly what the inputs of all ranks give. Returns 0 where the rank
/// has no output.
std::size_t count_wrong(const PerfResult& result, std::span<const std::byte> output);

/// Sums of squares over an output: of its difference from the dense result, and of the dense result.
struct SquaredError {
  double off = 0, dense = 0;
};
SquaredError squared_error(const PerfResult& result, std::span<const std::byte> output);

}  // namespace lacuna::cli
