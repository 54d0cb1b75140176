#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/loss.hpp"

namespace lacuna::workloads {

/// Returns the sum of the squares.
double squared_norm(std::span<const float> values);

/// Is an error, which names the fingerprints, unless all ranks call it with the same one.
Status check_equal(Communicator& communicator, std::uint64_t fingerprint);

/// Returns accuracy and loss on `count` test images, of which each rank has scored its share. All ranks call it.
Result<std::vector<Metric>> test_metrics(Communicator& communicator, const Score& share, std::size_t count);

}  // namespace lacuna::workloads
