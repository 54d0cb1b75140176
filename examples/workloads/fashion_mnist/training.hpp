#pragma once

#include <cstddef>
#include <vector>

#include "bindings/cpp/workload.hpp"
#include "examples/workloads/fashion_mnist/loss.hpp"

namespace lacuna::workloads {

/// How a method averages a gradient, whose random choices come from that sampler.
Options averaging(const Method& method, Sampler& sampler);

/// Accuracy and loss on `count` test images, of which each rank has scored its share. Called by all ranks.
Result<std::vector<Metric>> test_metrics(Communicator& communicator, const Score& share, std::size_t count);

}  // namespace lacuna::workloads
