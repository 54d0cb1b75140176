#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lacuna::workloads {

enum class Direction : std::uint8_t { Forward, Backward };

/// One pass of a micro-batch through a stage.
struct PipelineStep {
  Direction direction = Direction::Forward;
  std::size_t micro_batch = 0;

  bool operator==(const PipelineStep&) const = default;
};

/// Returns how many micro-batches a stage holds at most between their forward and their backward pass.
std::size_t most_alive(std::size_t stage, std::size_t stages, std::size_t micro_batches);

/// Returns what stage `stage` of `stages` does with the micro-batches of one step, in order. It does as many forward
/// passes as there are stages behind it, then one forward and one backward pass in turn, then the remaining backward
/// passes (Narayanan et al., "PipeDream", 2019; with a flush after each step, as in "Memory-efficient pipeline-parallel
/// DNN training", 2021). Micro-batches come in ascending order in both directions, so that the order of sums is that of
/// one stage alone.
std::vector<PipelineStep> one_forward_one_backward(std::size_t stage, std::size_t stages, std::size_t micro_batches);

}  // namespace lacuna::workloads
