#include "examples/workloads/parallel_mlp/split_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lacuna::workloads {

Status check_cuts(const std::vector<std::size_t>& widths, Rank ranks) {
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const bool shared = i > 0 || LayerShape{.index = 0, .layers = widths.size() - 1}.cut() == Cut::Rows;
    if (!shared || widths[i] % static_cast<std::size_t>(ranks) == 0) continue;
    return {Code::InvalidArgument,
            fmt::format("{} {} cannot be shared evenly by tensor = {} ranks; widths that are multiples of {} are "
                        "allowed",
                        widths[i], i == 0 ? "pixels" : "hidden values", ranks, ranks)};
  }
  return Status::ok();
}

SplitLayer::SplitLayer(const LayerShape& shape, Communicator& group, std::size_t most_samples)
    : shape_(shape), group_(&group) {
  const bool rows = shape.cut() == Cut::Rows;
  part_ = make_layer(rows ? shape.inputs / ranks() : shape.inputs, rows ? shape.outputs : shape.outputs / ranks(),
                     output_features());
  partial_.resize(most_samples * (rows ? shape.outputs : shape.inputs));
  gathered_delta_.resize(most_samples * part_.outputs);
  delta_by_samples_.resize(most_samples * part_.outputs);
  gradient_.resize(part_.weights());
}

void SplitLayer::initialise(std::uint64_t seed) {
  const std::vector<float> all = initial_weights(seed, shape_.index, shape_.inputs, shape_.outputs);
  const std::size_t first_column = shape_.cut() == Cut::Columns ? rank() * part_.outputs : 0;
  std::fill(part_.parameters.begin(), part_.parameters.end(), 0.0F);
  std::fill(part_.momentum.begin(), part_.momentum.end(), 0.0F);
  for (std::size_t row = 0; row < part_.inputs; ++row) {
    std::copy_n(all.data() + (first_operand_feature() + row) * shape_.outputs + first_column, part_.outputs,
                part_.parameters.data() + row * part_.outputs);
  }
}

std::span<float> SplitLayer::own_inputs(std::span<float> operand) const {
  if (shape_.cut() == Cut::Rows || shape_.first()) return operand;
  const std::size_t block = operand.size() / ranks();
  return operand.subspan(rank() * block, block);
}

template <class Call>
Status SplitLayer::wait_for(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  Status done = call();
  waited_ += std::chrono::steady_clock::now() - begin;
  return done;
}

Status SplitLayer::forward(std::span<float> operand, std::span<float> output) {
  const std::size_t samples = output.size() / output_features();
  const bool columns = shape_.cut() == Cut::Columns;
  if (columns && !shape_.first()) {
    const Status gathered = wait_for([&] { return group_->call(allgather(own_inputs(operand), operand)); });
    if (!gathered) return gathered;
  }
  const std::span<float> product =
      columns || shape_.last() ? output : std::span(partial_).first(part_.outputs * samples);
  multiply({.a = {part_.parameters.data(), 1, part_.outputs},
            .b = operand.data(),
            .c = product.data(),
            .rows = part_.outputs,
            .columns = samples,
            .depth = part_.inputs},
           [this] { group_->progress(); });
  if (!columns) {
    const Status summed = wait_for(
        [&] { return group_->call(shape_.last() ? allreduce(output, output) : reduce_scatter(product, output)); });
    if (!summed) return summed;
  }
  const float lowest = shape_.last() ? -std::numeric_limits<float>::infinity() : 0.0F;
  const float* biases = part_.parameters.data() + part_.weights();
  for (std::size_t j = 0; j < output_features(); ++j) {
    for (float& value : output.subspan(j * samples, samples)) value = std::max(value + biases[j], lowest);
  }
  return Status::ok();
}

Status SplitLayer::backward(std::span<float> operand, std::span<const float> delta, std::span<float> below) {
  const std::size_t samples = delta.size() / output_features();
  const bool columns = shape_.cut() == Cut::Columns;
  std::span<const float> product_delta = delta;
  if (!columns && !shape_.last()) {
    const std::span<float> all = std::span(gathered_delta_).first(part_.outputs * samples);
    const Status gathered = wait_for([&] { return group_->call(allgather(delta, all)); });
    if (!gathered) return gathered;
    product_delta = all;
  }
  add_gradient(operand, product_delta, delta);
  if (shape_.first()) return Status::ok();

  const std::span<float> by_inputs = columns ? std::span(partial_).first(part_.inputs * samples) : below;
  multiply({.a = {part_.parameters.data(), part_.outputs, 1},
            .b = product_delta.data(),
            .c = by_inputs.data(),
            .rows = part_.inputs,
            .columns = samples,
            .depth = part_.outputs},
           [this] { group_->progress(); });
  if (columns) {
    const Status summed = wait_for([&] { return group_->call(reduce_scatter(by_inputs, below)); });
    if (!summed) return summed;
  }
  const std::span<const float> inputs = own_inputs(operand);
  for (std::size_t i = 0; i < below.size(); ++i) below[i] = inputs[i] > 0 ? below[i] : 0.0F;
  return Status::ok();
}

/// `product_delta` is the loss's gradient by the products of the weights, `delta` that by the outputs with a bias here.
void SplitLayer::add_gradient(std::span<const float> operand, std::span<const float> product_delta,
                              std::span<const float> delta) {
  const std::size_t samples = product_delta.size() / part_.outputs;
  transpose(product_delta.data(), part_.outputs, samples, delta_by_samples_.data());
  multiply({.a = {operand.data(), samples, 1},
            .b = delta_by_samples_.data(),
            .c = gradient_.data(),
            .rows = part_.inputs,
            .columns = part_.outputs,
            .depth = samples},
           [this] { group_->progress(); });
  for (std::size_t i = 0; i < part_.weights(); ++i) part_.gradient[i] += gradient_[i];
  float* biases = part_.gradient.data() + part_.weights();
  for (std::size_t j = 0; j < output_features(); ++j) {
    float sum = 0;
    for (float value : delta.subspan(j * samples, samples)) sum += value;
    biases[j] += sum;
  }
}

}  // namespace lacuna::workloads
