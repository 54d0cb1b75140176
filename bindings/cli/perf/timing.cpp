#include "bindings/cli/perf/timing.hpp"

#include <algorithm>
#include <cmath>

#include "bindings/cli/perf/method.hpp"

namespace lacuna::cli {
namespace {

constexpr double batch_seconds = 2e-3;  // the shortest batch
constexpr double most_seconds = 0.5;    // of all batches together, if their times go on to differ
constexpr double tolerance = 0.05;      // the spread of times that count as equal
constexpr std::size_t batches_in_a_row = 5;
constexpr int most_iterations_of_batch = 1 << 16;

Timing summary_of_last(const std::vector<double>& seconds) {
  const std::size_t last = std::min(seconds.size(), batches_in_a_row);
  return summary_of({seconds.end() - static_cast<std::ptrdiff_t>(last), seconds.end()});
}

/// Returns how many iterations a batch has if one iteration takes so many seconds.
int iterations_of_batch(double seconds) {
  const double wanted = std::ceil(batch_seconds / std::max(seconds, 1e-9));
  return static_cast<int>(std::clamp<double>(wanted, 1, most_iterations_of_batch));
}

}  // namespace

Timing summary_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double median = (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
  return {.seconds = median, .spread = median > 0 ? (seconds.back() - seconds.front()) / median : 0};
}

Result<Timing> time_iterations(Bench& bench, int iterations) {
  const std::uint64_t before = bench.communicator.counters().payload_sent;
  const auto seconds = bench.time_rounds(iterations);
  if (!seconds) return seconds.status();
  const auto sent = static_cast<double>(bench.communicator.counters().payload_sent - before);
  Timing timing{.seconds = *seconds, .payload = sent / std::max(iterations, 1), .iterations = iterations};
  for (double* most : {&timing.seconds, &timing.payload}) {
    if (Status status = over_ranks(bench.communicator, Reduction::Max, *most); !status) return status;
  }
  return timing;
}

Result<Timing> time_until_stable(Bench& bench) {
  std::vector<double> batches;
  double all_seconds = 0, payload = 0;
  int iterations = 0, next = 1;
  Timing stable;
  do {
    const auto batch = time_iterations(bench, next);
    if (!batch) return batch;
    batches.push_back(batch->seconds);
    all_seconds += batch->seconds * next;
    payload += batch->payload * next;
    iterations += next;
    next = iterations_of_batch(batch->seconds);
    stable = summary_of_last(batches);
  } while (batches.size() < batches_in_a_row || (stable.spread > tolerance && all_seconds < most_seconds));
  stable.payload = payload / iterations;
  stable.iterations = iterations;
  return stable;
}

Status warm_connections(Communicator& communicator) {
  constexpr std::size_t most_bytes = 16 << 20, block_bytes = 1 << 20;
  const auto size = static_cast<std::size_t>(communicator.size());
  if (size == 1) return {};
  const std::size_t block = std::min(block_bytes, most_bytes / size) / sizeof(float);
  std::vector<float> sent(size * block), received(size * block);
  Status status;
  for (int round = 0; status && round < 4; ++round) {
    status = communicator.call(alltoall(sent, received));
    if (status) status = communicator.call(barrier());  // so that long messages use other parts of the buffers next
  }
  return status;
}

}  // namespace lacuna::cli
