#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/batches.hpp"

namespace lacuna::workloads {

struct EmbeddingsOptions {
  std::vector<std::size_t> vocabularies = {20000, 10000, 5000, 2000, 1000, 500, 100, 20};  ///< categories of each field
  std::size_t samples = 200'000;                                                           ///< to train with
  std::size_t test_samples = 20'000;
  std::uint64_t data_seed = 1;
  Shards shards = Shards::Mixed;  ///< Mixed or Own
  std::size_t batch = 64;         ///< samples of each rank and step
  std::size_t width = 16;  ///< numbers of a row of the table: a weight, and an embedding of width - 1; at least 2
  std::vector<std::size_t> hidden = {32};
  double learning_rate = 0.1;      ///< of the perceptron
  double table_learning_rate = 3;  ///< of the table, whose rows are in few samples of a batch each
};

/// Makes a data-parallel training of a model with an embedding table on click data (click_model.hpp, clicks.hpp), by
/// plain stochastic gradient descent. Each rank takes its share of the global batch. One allreduce averages the
/// gradient of the perceptron, and one that of the table, in which only the rows of the rank's samples are not zero.
/// They are the tensors "perceptron" and "table". All ranks hold equal parameters at all times. If the method asks for
/// lists, the gradient of the table is a list of these rows, and each step changes only the rows of the average.
std::unique_ptr<Workload> make_embeddings(const EmbeddingsOptions& options);

}  // namespace lacuna::workloads
