#include "examples/workloads/fashion_mnist/training.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace lacuna::workloads {

double squared_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

Status check_equal(Communicator& communicator, std::uint64_t fingerprint) {
  const std::array<std::int64_t, 1> mine = {std::bit_cast<std::int64_t>(fingerprint)};
  std::array<std::int64_t, 1> low{};
  std::array<std::int64_t, 1> high{};
  if (Status done = communicator.call(allreduce(mine, low, Reduction::Min)); !done) return done;
  if (Status done = communicator.call(allreduce(mine, high, Reduction::Max)); !done) return done;
  if (low == high) return Status::ok();
  return {Code::Mismatch,
          fmt::format("the parameters differ between ranks: fingerprints from {:016x} to {:016x}, {:016x} here",
                      static_cast<std::uint64_t>(low[0]), static_cast<std::uint64_t>(high[0]), fingerprint)};
}

Result<std::vector<Metric>> test_metrics(Communicator& communicator, const Score& share, std::size_t count) {
  std::array<double, 1> loss = {share.loss};
  if (Status summed = communicator.call(allreduce(loss, loss)); !summed) return summed;
  std::array<std::int64_t, 1> correct = {static_cast<std::int64_t>(share.correct)};
  if (Status summed = communicator.call(allreduce(correct, correct)); !summed) return summed;
  const auto all = static_cast<double>(count);
  return std::vector<Metric>{
      {.name = "test_accuracy",
       .value = static_cast<double>(correct[0]) / all,
       .percent = true,
       .description = "share of the test images whose class is found"},
      {.name = "test_loss", .value = loss[0] / all, .description = "mean cross entropy of the test images"}};
}

}  // namespace lacuna::workloads
