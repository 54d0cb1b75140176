#include "examples/workloads/parallel_mlp/schedule.hpp"

#include <algorithm>

namespace lacuna::workloads {

std::size_t most_alive(std::size_t stage, std::size_t stages, std::size_t micro_batches) {
  return std::min(stages - stage, micro_batches);
}

std::vector<PipelineStep> one_forward_one_backward(std::size_t stage, std::size_t stages, std::size_t micro_batches) {
  const std::size_t ahead = most_alive(stage, stages, micro_batches);
  std::vector<PipelineStep> steps;
  for (std::size_t next = 0; next < micro_batches + ahead; ++next) {
    if (next < micro_batches) steps.push_back({Direction::Forward, next});
    if (next + 1 >= ahead && next + 1 - ahead < micro_batches) steps.push_back({Direction::Backward, next + 1 - ahead});
  }
  return steps;
}

}  // namespace lacuna::workloads
