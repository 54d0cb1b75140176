#include "examples/workloads/fashion_mnist/averages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "algorithms/skip/importance.hpp"
#include "algorithms/skip/skip.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::workloads {
namespace {

/// Returns null if the method is another one, or none.
const Skip* skip_of(const MethodChoice& choice) {
  return choice.options.method() == &skip_method ? &choice.options.as<Skip>() : nullptr;
}

std::string name_of(const AveragedLayer& layer) {
  return layer.name.empty() ? fmt::format("layer{}", layer.number) : layer.name;
}

std::string name_of(const std::vector<AveragedLayer>& layers) {
  const std::string first = name_of(layers.front());
  return layers.size() == 1 ? first : fmt::format("{}-{}", first, layers.back().number);
}

/// Returns for how many elements the report's method was asked, or `all`.
std::size_t entries_asked(const Report& report, std::size_t all) {
  const Measure* asked = find(report.measures.table(), MeasureRole::Asked);
  return asked ? static_cast<std::size_t>(report.measures.value(*asked)) : all;
}

}  // namespace

double momentum_of(const MethodOptions& method) {
  if (!method) return 0;
  const auto& options = method.method()->options;
  const auto found =
      std::find_if(options.begin(), options.end(), [](const Option& option) { return option.name == "momentum"; });
  return found == options.end() ? 0 : std::get<double>(found->get(method.get()));
}

Averages::Averages(const Task& task, const std::vector<AveragedLayer>& layers, std::size_t bucket_bytes)
    : method_(task.method), tap_(task.tap) {
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    const bool full = buckets_.empty() || buckets_.back().parameters * sizeof(float) >= bucket_bytes;
    Bucket& bucket = full ? buckets_.emplace_back() : buckets_.back();
    bucket.layers.insert(bucket.layers.begin(), layers[layer]);
    bucket.first = layer;
    bucket.parameters += layers[layer].parameters;
  }
  std::reverse(buckets_.begin(), buckets_.end());
  for (Bucket& bucket : buckets_) {
    bucket.state.sampler = {.seed = task.seed, .key = bucket.layers.front().number, .draw = 0};
    bucket.method = method_of(bucket);
    if (bucket.layers.size() > 1) bucket.merged.resize(bucket.parameters);
    add_arrays(bucket.method, Dtype::F32, bucket.parameters, bucket.state);
    model_.push_back(&bucket.state);
  }
  for (Bucket& bucket : buckets_) bucket.state.model = model_;
}

/// Makes weights and biases segments if the method treats them differently.
MethodOptions Averages::method_of(const Bucket& bucket) const {
  const Skip* as_chosen = skip_of(method_);
  const bool alike = as_chosen && as_chosen->policy == SkipPolicy::Skip && as_chosen->small == Skip().small;
  if (!as_chosen || alike) return method_.options;
  Skip merged = *as_chosen;
  merged.segments.clear();
  std::size_t begin = 0;
  for (const AveragedLayer& layer : bucket.layers) {
    merged.segments.push_back({begin, layer.weights, merged.policy});
    merged.segments.push_back({begin + layer.weights, layer.parameters - layer.weights, SkipPolicy::Skip});
    begin += layer.parameters;
  }
  return skip(std::move(merged));
}

Options Averages::options(Bucket& bucket) {
  Options options;
  options.algorithm = method_.algorithm;
  options.method = bucket.method;
  options.state = &bucket.state;
  return options;
}

std::vector<GradientShape> Averages::gradients() const {
  std::vector<GradientShape> shapes;
  for (const Bucket& bucket : buckets_) {
    shapes.push_back({.name = name_of(bucket.layers), .count = bucket.parameters});
  }
  return shapes;
}

Status Averages::check(Communicator& ranks) {
  for (Bucket& bucket : buckets_) {
    const Call call{.collective = Collective::Allreduce,
                    .count = bucket.parameters,
                    .reduction = Reduction::Avg,
                    .options = options(bucket)};
    if (Status served = ranks.algorithm_name(call).status(); !served) return served;
  }
  return Status::ok();
}

Averages::Bucket& Averages::bucket_of(std::size_t layer) {
  return *std::find_if(buckets_.rbegin(), buckets_.rend(), [&](const Bucket& one) { return one.first <= layer; });
}

Status Averages::give(Communicator& ranks, std::size_t layer, std::span<float> gradient, bool measured) {
  Bucket& bucket = bucket_of(layer);
  if (bucket.gradients.size() == bucket.layers.size()) bucket.gradients.clear();
  bucket.gradients.push_back(gradient);
  return bucket.gradients.size() == bucket.layers.size() ? start(ranks, bucket, measured) : Status::ok();
}

Status Averages::start(Communicator& ranks, Bucket& bucket, bool measured) {
  std::span<float> all = bucket.gradients.front();
  if (!bucket.merged.empty()) {
    all = bucket.merged;
    float* next = all.data();
    for (auto one = bucket.gradients.rbegin(); one != bucket.gradients.rend(); ++one) {
      next = std::copy(one->begin(), one->end(), next);
    }
  }
  if (tap_) tap_({name_of(bucket.layers), Dtype::F32, all.data(), all.size()}, ranks.size());
  bucket.measured = measured;
  if (measured) xi_.begin(number_of(bucket), bucket.method, bucket.state, all);
  auto average = ranks.start(allreduce(all, all, Reduction::Avg, options(bucket)));
  if (average) bucket.average = *std::move(average);
  return average.status();
}

Status Averages::take(std::size_t layer) {
  Bucket& bucket = bucket_of(layer);
  const bool last = layer + 1 == bucket.first + bucket.layers.size();
  return last ? end(bucket) : Status::ok();
}

Status Averages::end(Bucket& bucket) {
  if (Status done = bucket.average.wait(); !done) return done;
  std::span<const float> all = bucket.gradients.front();
  if (!bucket.merged.empty()) {
    all = bucket.merged;
    const float* next = bucket.merged.data();
    for (auto one = bucket.gradients.rbegin(); one != bucket.gradients.rend(); next += one->size(), ++one) {
      std::copy_n(next, one->size(), one->begin());
    }
  }
  if (bucket.measured) xi_.end(number_of(bucket), all, entries_asked(bucket.average.report(), all.size()));
  return Status::ok();
}

float Averages::momentum(double of_trainer) const {
  return momentum_of(method_.options) > 0 ? 0 : static_cast<float>(of_trainer);
}

std::vector<StateItem> Averages::state() {
  std::vector<StateItem> items;
  for (Bucket& bucket : buckets_) add_items(bucket.state, name_of(bucket.layers) + ".", items);
  return items;
}

std::vector<Metric> Averages::importance() const {
  std::vector<Metric> metrics;
  for (const Bucket& bucket : buckets_) {
    for (const SegmentImportance& known : importance_of(bucket.state)) {
      const std::size_t layer = known.segment / 2;  // each layer has two segments, its weights and its biases
      if (layer >= bucket.layers.size()) continue;
      const std::string name = name_of(bucket.layers[layer]) + ".";
      const double unknown = std::numeric_limits<double>::quiet_NaN();
      metrics.push_back({.name = name + "share",
                         .value = known.measured ? known.share : unknown,
                         .description = "share of the layer's weights among the largest quarter of all"});
      metrics.push_back({.name = name + "dense",
                         .value = known.measured ? known.important : unknown,
                         .description = "1: the layer is averaged densely because of this share"});
    }
  }
  return metrics;
}

}  // namespace lacuna::workloads
