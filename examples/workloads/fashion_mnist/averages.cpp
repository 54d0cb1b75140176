#include "examples/workloads/fashion_mnist/averages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace lacuna::workloads {
Averages::Averages(const Task& task, const std::vector<AveragedLayer>& layers) : method_(task.method) {
  for (const AveragedLayer& sizes : layers) {
    Kept& layer = layers_.emplace_back();
    layer.sizes = sizes;
    layer.state.sampler = {.seed = task.seed, .key = sizes.number, .draw = 0};
    if (method_.skip.feedback) layer.state.residual.resize(sizes.parameters * sizeof(float));
    layer.segments = {{0, sizes.weights, method_.policy, sizes.number},
                      {sizes.weights, sizes.parameters - sizes.weights, SkipPolicy::Skip, 0}};
  }
  if (method_.policy != SkipPolicy::Automatic) return;
  importance_ = std::make_unique<SkipImportance>(method_.importance);
  saved_importance_.resize(1 + SkipImportance::most_saved(layers.size()) / sizeof(std::int64_t));
}

Options Averages::options(Kept& layer) {
  Options options;
  options.algorithm = method_.algorithm;
  options.skip = method_.skip;
  options.skip.schedule = method_.schedule;
  options.skip.segments = layer.segments;
  options.skip.state = &layer.state;
  options.skip.importance = importance_.get();
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
  return ranks.start(allreduce(gradient, gradient, Reduction::Avg, options(layers_[layer])));
}

std::vector<StateItem> Averages::state() {
  std::vector<StateItem> items;
  for (Kept& layer : layers_) {
    const std::string name = fmt::format("layer{}.", layer.sizes.number);
    SkipState& state = layer.state;
    items.push_back({name + "sampler", Dtype::I64, &state.sampler, sizeof(Sampler) / sizeof(std::int64_t)});
    items.push_back({name + "skip_runs", Dtype::I64, &state.runs, 1});
    if (method_.skip.feedback) {
      items.push_back({name + "residual", Dtype::F32, state.residual.data(), layer.sizes.parameters});
    }
  }
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
