#include "examples/workloads/fashion_mnist/training.hpp"

#include <array>
#include <cstdint>

namespace lacuna::workloads {

double squared_norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

Result<std::vector<Metric>> test_metrics(Communicator& communicator, const Score& share, std::size_t count) {
  std::array<double, 1> loss = {share.loss};
  if (Status summed = communicator.call(allreduce(loss, loss)); !summed) return summed;
  std::array<std::int64_t, 1> correct = {static_cast<std::int64_t>(share.correct)};
  if (Status summed = communicator.call(allreduce(correct, correct)); !summed) return summed;
  const auto all = static_cast<double>(count);
  return std::vector<Metric>{{.name = "test_accuracy", .value = static_cast<double>(correct[0]) / all, .percent = true},
                             {.name = "test_loss", .value = loss[0] / all}};
}

}  // namespace lacuna::workloads
