#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bindings/cli/perf/pattern.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// What `lacuna perf` puts into a rank's input of this call: whole numbers so small that the result of up to 4096 ranks
/// is exact in every dtype, and without a regularity, so that a result that lies elsewhere is wrong. With a pattern
/// they are not zero where it says.
double perf_value(const Call& call, Rank rank, std::size_t element, const Pattern* pattern = nullptr);

/// Where blocks differ in length, `call` gets tables in `counts`, and its count, which came as the mean of the blocks,
/// becomes that of this rank's: they grow from nothing to twice the mean, from block to block.
void give_tables(Call& call, Rank rank, Rank size, std::vector<std::size_t>& counts);

/// Returns how many elements are not zero.
std::size_t fill_input(const Call& call, Rank rank, std::span<std::byte> input, const Pattern* pattern = nullptr);

/// One result to be checked: the call as it was started, its sampler before it was started, and where it ran.
struct PerfResult {
  const Call& call;
  const Sampler& sampler;
  Rank rank;
  Rank size;
  std::size_t chunk_bytes;
  Hosts hosts{};                     ///< none: all ranks on one
  const Pattern* pattern = nullptr;  ///< of the inputs
};

/// How many elements of the output are not exactly what the inputs of all ranks give. None where the rank has no
/// output.
std::size_t count_wrong(const PerfResult& result, std::span<const std::byte> output);

/// Sums of squares over an output: of what it is off the dense result, and of that.
struct SquaredError {
  double off = 0, dense = 0;
};
SquaredError squared_error(const PerfResult& result, std::span<const std::byte> output);

}  // namespace lacuna::cli
