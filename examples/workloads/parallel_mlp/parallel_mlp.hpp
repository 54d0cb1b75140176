#pragma once

#include <cstddef>
#include <memory>

#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "examples/workloads/parallel_mlp/grid.hpp"

namespace lacuna::workloads {

struct ParallelMlpOptions {
  FashionMnistOptions model;      ///< its batch counts the samples of each replica and step
  GridSizes grid;                 ///< their product is the number of ranks
  std::size_t micro_batches = 1;  ///< pieces into which a replica cuts its batch
};

/// Returns Ok if that many ranks can train in this way, as far as it can be said without the images.
Status check(const ParallelMlpOptions& options, Rank ranks);

/// Makes the training of make_fashion_mnist with each replica of the network spread over ranks: its layers over the
/// stages of a pipeline, and each layer over a tensor-parallel group. A replica's batch goes through the stages in
/// micro-batches, in the order of one_forward_one_backward. Then the method's allreduce averages the gradients over the
/// ranks of all replicas that hold the same parameters. docs/parallelism.md has the picture and says which bits are
/// equal to which.
std::unique_ptr<Workload> make_parallel_mlp(const ParallelMlpOptions& options);

}  // namespace lacuna::workloads
