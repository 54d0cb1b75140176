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

/// How the learning rate goes on from its first value.
enum class Decay : std::uint8_t { None = 0, Linear = 1 };  ///< Linear: down to zero at the last step

constexpr std::string_view to_string(Decay decay) { return decay == Decay::None ? "none" : "linear"; }

/// What is averaged, and so what residuals keep: gradients as they are; or steps, gradients times the learning rate as
/// in Ok-Topk's algorithm 2, so that what is kept does not change its weight when the rate does.
enum class Averaged : std::uint8_t { Gradients = 0, Steps = 1 };

constexpr std::string_view to_string(Averaged averaged) {
  return averaged == Averaged::Gradients ? "gradients" : "steps";
}

struct FashionMnistOptions {
  std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  std::size_t images = 0;  ///< the first of the training images that are used; 0: all
  Shards shards = Shards::Mixed;
  std::size_t batch = 16;              ///< samples per rank and step
  std::vector<std::size_t> filters{};  ///< of convolutions before the dense layers
  std::vector<std::size_t> hidden = {512, 256};
  double learning_rate = 0.05;
  double momentum = 0.9;
  Decay decay = Decay::None;
  Averaged averaged = Averaged::Gradients;
  std::size_t bucket_bytes = 0;  ///< layers are averaged together until they have so many; 0: one by one
  std::uint64_t xi_every = 0;    ///< steps; evaluations compare the last such one with dense averages; 0: never
};

/// The numbers of values between the layers of a network without convolutions, from the pixels to the classes.
std::vector<std::size_t> widths_of(const FashionMnistOptions& options, std::size_t pixels);
/// The learning rate of step `step` of `steps`.
float rate_at(const FashionMnistOptions& options, std::uint64_t step, std::uint64_t steps);

/// Data-parallel training of a multilayer perceptron, or of a small convolutional network, on Fashion-MNIST (Xiao,
/// Rasul and Vollgraf, 2017). Each rank takes its slice of the global batch; each layer's gradient is averaged by one
/// allreduce, started as soon as it is there and overlapped with the rest of the backward pass. All ranks hold equal
/// parameters at all times.
std::unique_ptr<Workload> make_fashion_mnist(const FashionMnistOptions& options);

}  // namespace lacuna::workloads
