#include "examples/workloads/fashion_mnist/averages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "algorithms/topk/topk.hpp"

namespace lacuna::workloads {
namespace {

/// Null: another method, or none.
const Skip* skip_of(const MethodChoice& choice) {
  return choice.options.method() == &skip_method ? &choice.options.as<Skip>() : nullptr;
}

std::string name_of(const AveragedLayer& layer) { return fmt::format("layer{}", layer.number); }

}  // namespace

Averages::Averages(const Task& task, const std::vector<AveragedLayer>& layers) : method_(task.method), tap_(task.tap) {
  if (const Skip* skip = skip_of(method_); skip && skip->policy == SkipPolicy::Automatic) {
    importance_ = std::make_unique<SkipImportance>(
        SkipImportance::Options{.every = skip->importance_every, .threshold = skip->importance_threshold});
    saved_importance_.resize(1 + SkipImportance::most_saved(layers.size()) / sizeof(std::int64_t));
  }
  for (const AveragedLayer& sizes : layers) {
    Kept& layer = layers_.emplace_back();
    layer.sizes = sizes;
    layer.state.sampler = {.seed = task.seed, .key = sizes.number, .draw = 0};
    layer.method = method_of(sizes);
    add_arrays(layer.method, Dtype::F32, sizes.parameters, layer.state);
  }
}

/// Weights and biases are segments where a method treats them differently.
MethodOptions Averages::method_of(const AveragedLayer& sizes) const {
  const Skip* as_chosen = skip_of(method_);
  const bool alike = as_chosen && as_chosen->policy == SkipPolicy::Skip && as_chosen->small == Skip().small;
  if (!as_chosen || alike) return method_.options;
  Skip layer = *as_chosen;
  layer.segments = {{0, sizes.weights, layer.policy, sizes.number},
                    {sizes.weights, sizes.parameters - sizes.weights, SkipPolicy::Skip, 0}};
  layer.importance = importance_.get();
  return skip(std::move(layer));
}

Options Averages::options(Kept& layer) {
  Options options;
  options.algorithm = method_.algorithm;
  options.method = layer.method;
  options.state = &layer.state;
  return options;
}

Status Averages::check(Communicator& ranks) {
  for (Kept& layer : layers_) {
    const Call call{.collective = Collective::Allreduce,
                    .count = layer.sizes.parameters,
                    .reduction = Reduction::Avg,
                    .options = options(layer)};
    if (Status served = ranks.algorithm_name(call).status(); !served) return served;
  }
  return Status::ok();
}

Result<Request> Averages::start(Communicator& ranks, std::size_t layer, std::span<float> gradient) {
  if (tap_) tap_({name_of(layers_[layer].sizes), Dtype::F32, gradient.data(), gradient.size()}, ranks.size());
  return ranks.start(allreduce(gradient, gradient, Reduction::Avg, options(layers_[layer])));
}

float Averages::momentum(double of_trainer) const {
  const bool corrected = method_.options.method() == &topk_method && method_.options.as<Topk>().momentum > 0;
  return corrected ? 0 : static_cast<float>(of_trainer);
}

std::vector<StateItem> Averages::state() {
  std::vector<StateItem> items;
  for (Kept& layer : layers_) add_items(layer.state, name_of(layer.sizes) + ".", items);
  if (importance_) {
    const std::vector<std::byte> saved = importance_->save();
    std::fill(saved_importance_.begin(), saved_importance_.end(), 0);
    saved_importance_.front() = static_cast<std::int64_t>(saved.size());
    const std::span room = std::as_writable_bytes(std::span(saved_importance_).subspan(1));
    std::memcpy(room.data(), saved.data(), std::min(saved.size(), room.size()));
    items.push_back({"importance", Dtype::I64, saved_importance_.data(), saved_importance_.size()});
  }
  return items;
}

Status Averages::restored() {
  if (!importance_) return Status::ok();
  const auto room = std::as_bytes(std::span(saved_importance_).subspan(1));
  const auto length = static_cast<std::uint64_t>(saved_importance_.front());
  return importance_->restore(room.first(std::min<std::uint64_t>(length, room.size())));
}

std::vector<Metric> Averages::importance() const {
  std::vector<Metric> metrics;
  if (!importance_) return metrics;
  for (const SkipImportance::Segment& segment : importance_->segments()) {
    const std::string name = fmt::format("layer{}.", segment.key);
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    metrics.push_back({.name = name + "share", .value = segment.measured ? segment.share : unknown});
    metrics.push_back({.name = name + "dense", .value = segment.measured ? segment.important : unknown});
  }
  return metrics;
}

}  // namespace lacuna::workloads
