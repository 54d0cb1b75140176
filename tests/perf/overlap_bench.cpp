// An allreduce (f32, sum) beside a computation that takes as long as it does alone: overlap_bench BYTES ITERATIONS
// All ranks of a job run it. Rank 0 prints the bytes and three medians in microseconds: of the allreduce alone, of the
// computation alone, and of both, where the computation stands between start and wait.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace {

using namespace lacuna;
using Clock = std::chrono::steady_clock;

/// Computes something of so many steps, from memory that stays in the cache.
double compute(std::size_t steps) {
  double sum = 0;
  for (std::size_t i = 1; i <= steps; ++i) sum += 1.0 / static_cast<double>(i % 1000 + 1);
  return sum;
}

/// Ends the process, and so the job, after an error.
void check(const Status& status) {
  if (status) return;
  fmt::print(stderr, "overlap_bench: {}\n", status.to_string());
  std::exit(1);
}

struct Bench {
  Communicator world;
  std::vector<float> data;
  int iterations;
  volatile double computed = 0;

  /// Returns the median of the times of `body` in microseconds, each that of the slowest rank.
  double median(const std::function<void()>& body) {
    std::vector<double> times;
    for (int i = -2; i < iterations; ++i) {
      check(world.call(barrier()));
      const auto begin = Clock::now();
      body();
      if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    check(world.call(allreduce(times, times, Reduction::Max)));
    std::nth_element(times.begin(), times.begin() + iterations / 2, times.end());
    return times[static_cast<std::size_t>(iterations / 2)];
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at) { return argc == 3 ? std::atoi(argv[at]) : 0; };
  if (number(1) < 4 || number(2) < 1) {
    fmt::print(stderr, "usage: overlap_bench BYTES ITERATIONS\n");
    return 2;
  }
  Bench bench{.world = Communicator(),
              .data = std::vector<float>(static_cast<std::size_t>(number(1)) / 4, 1),
              .iterations = number(2)};
  const auto call = [&] { return allreduce(bench.data, bench.data, Reduction::Max); };
  const double alone = bench.median([&] { check(bench.world.call(call())); });
  constexpr std::size_t tried = 1 << 20;
  const double of_tried = bench.median([&] { bench.computed = compute(tried); });
  const auto steps = static_cast<std::size_t>(static_cast<double>(tried) * alone / of_tried);
  const double computing = bench.median([&] { bench.computed = compute(steps); });
  const double both = bench.median([&] {
    auto request = bench.world.start(call());
    check(request.status());
    bench.computed = compute(steps);
    check(request->wait());
  });
  if (bench.world.rank() == 0) fmt::print("{} {:.2f} {:.2f} {:.2f}\n", number(1), alone, computing, both);
  return 0;
}
