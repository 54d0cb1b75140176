#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lacuna::workloads {

/// How well a network does on some samples.
struct Score {
  double loss = 0;  ///< cross entropy, summed over the samples
  std::size_t correct = 0;
};

/// `outputs` has a row for each label: the outputs for that sample, one for each class.
Score score(std::span<const float> outputs, std::span<const std::uint8_t> labels);

/// Fills `gradient` with `scale` times the gradient of the summed loss by the outputs, in the same places.
void loss_gradient(std::span<const float> outputs, std::span<const std::uint8_t> labels, float scale,
                   std::span<float> gradient);

}  // namespace lacuna::workloads
