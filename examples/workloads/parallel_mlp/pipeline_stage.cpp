#include "examples/workloads/parallel_mlp/pipeline_stage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {
namespace {

constexpr int values_tag = 0;
constexpr int gradients_tag = 1;

}  // namespace

PipelineStage::PipelineStage(Grid& grid, const Options& options) : grid_(&grid), slots_(options.slots) {
  const std::size_t layers = options.widths.size() - 1;
  const auto stage = static_cast<std::size_t>(grid.place.pipeline);
  const auto stages = static_cast<std::size_t>(grid.sizes.pipeline);
  for (std::size_t l = layers * stage / stages; l < layers * (stage + 1) / stages; ++l) {
    const LayerShape shape{.index = l, .layers = layers, .inputs = options.widths[l], .outputs = options.widths[l + 1]};
    layers_.emplace_back(shape, grid.tensor, options.most_samples);
    deltas_.emplace_back(options.most_samples * layers_.back().output_features());
  }
  for (Slot& slot : slots_) slot.operands.resize(layers_.size());
}

void PipelineStage::initialise(std::uint64_t seed) {
  for (SplitLayer& layer : layers_) layer.initialise(seed);
}

void PipelineStage::clear_gradients() {
  for (SplitLayer& layer : layers_) std::fill(layer.part().gradient.begin(), layer.part().gradient.end(), 0.0F);
}

void PipelineStage::begin(std::size_t index, std::size_t samples) {
  Slot& slot = slots_[index];
  slot.samples = samples;
  for (std::size_t l = 0; l < layers_.size(); ++l) slot.operands[l].resize(samples * layers_[l].operand_features());
}

std::span<float> PipelineStage::inputs(std::size_t slot) {
  return layers_.front().own_inputs(slots_[slot].operands.front());
}

std::span<float> PipelineStage::delta(std::size_t layer, std::size_t samples) {
  return std::span(deltas_[layer]).first(samples * output_features(layer));
}

std::span<float> PipelineStage::output_delta(std::size_t slot) {
  return delta(layers_.size() - 1, slots_[slot].samples);
}

Status PipelineStage::wait_for(Request& request) {
  const auto begin = std::chrono::steady_clock::now();
  Status done = request.wait();
  waited_ += std::chrono::steady_clock::now() - begin;
  return done;
}

Status PipelineStage::receive(std::span<float> data, Rank from, int tag) {
  Result<ReceiveRequest> request = grid_->pipeline.start_receive(data, from, tag);
  if (!request) return request.status();
  if (Status done = wait_for(*request); !done) return done;
  if (request->received_bytes() == data.size_bytes()) return Status::ok();
  return {Code::Mismatch, fmt::format("stage {} sent {} of a micro-batch, must be {}", from,
                                      count_of(request->received_bytes(), "byte"), data.size_bytes())};
}

Status PipelineStage::forward(std::size_t index) {
  Slot& slot = slots_[index];
  if (!first()) {
    if (Status got = receive(inputs(index), grid_->place.pipeline - 1, values_tag); !got) return got;
  }
  if (Status free = wait_for(slot.sent); !free) return free;
  slot.output.resize(slot.samples * output_features(layers_.size() - 1));
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const bool end = l + 1 == layers_.size();
    const std::span<float> output = end ? std::span(slot.output) : layers_[l + 1].own_inputs(slot.operands[l + 1]);
    if (Status done = layers_[l].forward(slot.operands[l], output); !done) return done;
  }
  if (last()) return Status::ok();
  Result<Request> sent = grid_->pipeline.start_send<float>(slot.output, grid_->place.pipeline + 1, values_tag);
  if (!sent) return sent.status();
  slot.sent = *std::move(sent);
  return Status::ok();
}

Status PipelineStage::backward(std::size_t index, const std::function<Status(std::size_t layer)>& done) {
  Slot& slot = slots_[index];
  if (!last()) {
    if (Status got = receive(output_delta(index), grid_->place.pipeline + 1, gradients_tag); !got) return got;
  }
  if (Status free = wait_for(sent_below_); !free) return free;
  if (!first()) below_.resize(inputs(index).size());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const std::span<float> below = l > 0 ? delta(l - 1, slot.samples) : std::span(below_);
    if (Status passed = layers_[l].backward(slot.operands[l], delta(l, slot.samples), below); !passed) return passed;
    if (Status taken = done(l); !taken) return taken;
  }
  if (first()) return Status::ok();
  Result<Request> sent = grid_->pipeline.start_send<float>(below_, grid_->place.pipeline - 1, gradients_tag);
  if (!sent) return sent.status();
  sent_below_ = *std::move(sent);
  return Status::ok();
}

std::chrono::nanoseconds PipelineStage::waited() const {
  std::chrono::nanoseconds sum = waited_;
  for (const SplitLayer& layer : layers_) sum += layer.waited();
  return sum;
}

}  // namespace lacuna::workloads
