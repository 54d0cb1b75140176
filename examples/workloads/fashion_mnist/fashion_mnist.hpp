#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "examples/workloads/fashion_mnist/batches.hpp"

namespace lacuna::workloads {

/// How the learning rate changes from its first value.
enum class Decay : std::uint8_t { None = 0, Linear = 1 };  ///< Linear: down to zero at the last step

constexpr std::string_view to_string(Decay decay) { return decay == Decay::None ? "none" : "linear"; }

/// What is averaged, and so what residuals hold: gradients, or steps, which are gradients times the learning rate.
/// Ok-Topk's algorithm 2 averages steps. The weight of a residual then does not change with the rate.
enum class Averaged : std::uint8_t { Gradients = 0, Steps = 1 };

constexpr std::string_view to_string(Averaged averaged) {
  return averaged == Averaged::Gradients ? "gradients" : "steps";
}

struct FashionMnistOptions {
  std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  std::size_t images = 0;  ///< only that many of the first training images are used; 0: all
  Shards shards = Shards::Mixed;
  std::size_t batch = 16;              ///< samples of each rank and step
  std::vector<std::size_t> filters{};  ///< of each convolution before the dense layers
  std::vector<std::size_t> hidden = {512, 256};
  double learning_rate = 0.05;
  double momentum = 0.9;
  Decay decay = Decay::None;
  Averaged averaged = Averaged::Gradients;
  std::size_t bucket_bytes = 0;  ///< layers are averaged together until they have that many bytes; 0: one by one
  std::uint64_t xi_every = 0;    ///< steps; evaluations compare the last such step with dense averages; 0: never
};

/// Returns the numbers of values between the layers of a network without convolutions, from the pixels to the classes.
std::vector<std::size_t> widths_of(const FashionMnistOptions& options, std::size_t pixels);
/// Returns the learning rate of step `step` of `steps`.
float rate_at(const FashionMnistOptions& options, std::uint64_t step, std::uint64_t steps);

/// Makes a data-parallel training of a multilayer perceptron, or of a small convolutional network, on Fashion-MNIST
/// (Xiao, Rasul and Vollgraf, 2017). Each rank takes its share of the global batch. One allreduce averages each layer's
/// gradient. It starts as soon as the gradient is there, and overlaps with the rest of the backward pass. All ranks
/// hold equal parameters at all times.
std::unique_ptr<Workload> make_fashion_mnist(const FashionMnistOptions& options);

}  // namespace lacuna::workloads
