#pragma once

#include <cstdint>
#include <random>

#include "tests/support/covering_rows.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {

/// How many orders a test draws for each of its many cases.
inline constexpr std::uint64_t drawn_orders = default_cover == Cover::Pairs ? 4 : 1;

/// Options of ranks whose messages come in an order that is drawn from the seed. The limits are drawn too. With seed 0
/// messages come in the order in which they were sent.
inline RanksOptions drawn_options(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RanksOptions options{.executor = quick_executor()};
  options.executor.chunk_bytes = 128;
  if (seed == 0) return options;
  options.network = {.seed = seed,
                     .sends = random() % 2 ? InprocOptions::Sends::Referenced : InprocOptions::Sends::Copied,
                     .eager_limit = std::size_t{64} << random() % 4};
  options.executor.window_bytes = random() % 2 ? 300 : 1 << 20;
  options.executor.credit_bytes = random() % 2 ? 500 : 1 << 20;
  options.executor.eager_bytes = random() % 3 ? 1 << 20 : 0;
  options.executor.parts_in_flight = static_cast<std::uint32_t>(1 + random() % 4);
  if (random() % 2) options.executor.compute = delayed_compute;
  options.executor.cache_bytes = random() % 2 ? 1 : SIZE_MAX;
  return options;
}

/// The same for ranks whose data, or those of every other rank, lie on a device.
inline RanksOptions drawn_options(std::uint64_t seed, OnDevice devices) {
  RanksOptions options = drawn_options(seed);
  options.devices = devices;
  if (devices != OnDevice::None) options.executor.compute = nullptr;
  return options;
}

}  // namespace lacuna::test
