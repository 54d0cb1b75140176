#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "examples/workloads/fashion_mnist/averages.hpp"
#include "examples/workloads/fashion_mnist/batches.hpp"
#include "examples/workloads/fashion_mnist/data.hpp"
#include "examples/workloads/fashion_mnist/network.hpp"
#include "examples/workloads/fashion_mnist/training.hpp"

namespace lacuna::workloads {
namespace {

using Clock = std::chrono::steady_clock;

class FashionMnist final : public Workload {
 public:
  explicit FashionMnist(const FashionMnistOptions& options) : options_(options), labels_(options.batch) {}

  Status load() override;
  Result<std::uint64_t> steps_per_epoch(Rank ranks) const override;
  bool depends_on_steps() const override { return options_.decay != Decay::None; }
  std::vector<GradientShape> gradients(const Task& task) const override { return averages_of(task).gradients(); }
  Status set_up(Communicator& communicator, const Task& task) override;
  Result<double> step(std::uint64_t step) override;
  Result<Metrics> evaluate() override;
  std::vector<StateItem> state() override;
  std::chrono::nanoseconds waited() const override { return waited_; }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(communicator_->size()); }
  std::size_t rank() const { return static_cast<std::size_t>(communicator_->rank()); }
  BatchSizes batch_sizes(std::size_t replicas) const { return {data_.training.count, options_.batch, replicas}; }
  Averages averages_of(const Task& task) const;
  void take_sample(const LabelledImages& from, std::size_t index, std::size_t slot);
  void take_batch(std::uint64_t step);
  Status backward(float rate, bool measures);
  Status finish(float rate);
  Score score_share();
  std::uint64_t fingerprint() const;

  FashionMnistOptions options_;
  FashionMnistData data_;
  std::optional<Network> network_;
  std::vector<std::uint8_t> labels_;
  std::optional<Averages> averages_;
  Communicator* communicator_ = nullptr;
  Task task_;
  Batches batches_;
  std::chrono::nanoseconds waited_{0};
};

Status FashionMnist::load() {
  Result<FashionMnistData> data = read_fashion_mnist(options_.folder, options_.images);
  if (!data) return data.status();
  data_ = *std::move(data);
  NetworkShape shape{.image = {data_.training.height, data_.training.width, 1},
                     .filters = options_.filters,
                     .widths = options_.hidden};
  shape.widths.push_back(classes);
  if (Status possible = check(shape); !possible) return possible;
  network_.emplace(shape, options_.batch);
  return Status::ok();
}

Result<std::uint64_t> FashionMnist::steps_per_epoch(Rank ranks) const {
  return workloads::steps_per_epoch(batch_sizes(static_cast<std::size_t>(ranks)));
}

Status FashionMnist::set_up(Communicator& communicator, const Task& task) {
  if (Status enough = steps_per_epoch(communicator.size()).status(); !enough) return enough;
  communicator_ = &communicator;
  task_ = task;
  batches_ = Batches(batch_sizes(ranks()), rank(), task.seed, options_.shards, data_.training.labels);
  waited_ = {};
  network_->initialise(task.seed);
  averages_.emplace(averages_of(task));
  return averages_->check(communicator);
}

Averages FashionMnist::averages_of(const Task& task) const {
  std::vector<AveragedLayer> layers;
  for (const Layer& layer : network_->layers()) {
    layers.push_back({.number = layers.size(), .weights = layer.weights(), .parameters = layer.parameters.size()});
  }
  return Averages(task, layers, options_.bucket_bytes);
}

void FashionMnist::take_sample(const LabelledImages& from, std::size_t index, std::size_t slot) {
  const std::uint8_t* image = from.images.data() + index * from.pixels;
  float* to = network_->inputs().data() + slot * from.pixels;
  for (std::size_t i = 0; i < from.pixels; ++i) to[i] = normalised(image[i]);
  labels_[slot] = from.labels[index];
}

void FashionMnist::take_batch(std::uint64_t step) {
  const std::span<const std::uint32_t> samples = batches_.take(step);
  for (std::size_t i = 0; i < samples.size(); ++i) take_sample(data_.training, samples[i], i);
}

Result<double> FashionMnist::step(std::uint64_t step) {
  take_batch(step);
  network_->forward(options_.batch);
  const double loss = network_->score(labels_).loss / static_cast<double>(options_.batch);
  const float rate = rate_at(options_, step, task_.steps);
  const bool measures = options_.xi_every > 0 && step % options_.xi_every == 0;
  Status done = backward(rate, measures);
  if (done) done = finish(rate);
  if (!done) return done;
  return loss;
}

/// Averages begin with the last layer and end with the first.
Status FashionMnist::backward(float rate, bool measures) {
  const Pause pause = [this] { communicator_->progress(); };
  network_->begin_backward(labels_);
  for (std::size_t layer = network_->layers().size(); layer-- > 0;) {
    network_->parameter_gradient(layer, pause);
    const std::span<float> gradient = network_->layers()[layer].gradient;
    if (options_.averaged == Averaged::Steps) {
      for (float& value : gradient) value *= rate;
    }
    if (Status given = averages_->give(*communicator_, layer, gradient, measures); !given) return given;
    if (layer > 0) network_->input_gradient(layer, pause);
  }
  return Status::ok();
}

Status FashionMnist::finish(float rate) {
  const bool steps = options_.averaged == Averaged::Steps;
  for (std::size_t layer = network_->layers().size(); layer-- > 0;) {
    const Clock::time_point begin = Clock::now();
    const Status done = averages_->take(layer);
    waited_ += Clock::now() - begin;
    if (!done) return done;
    update(network_->layers()[layer], steps ? 1 : rate, averages_->momentum(options_.momentum));
    communicator_->progress();
  }
  return Status::ok();
}

/// Scores this rank's share of the test images.
Score FashionMnist::score_share() {
  const std::size_t end = data_.test.count * (rank() + 1) / ranks();
  Score share;
  for (std::size_t i = data_.test.count * rank() / ranks(); i < end; i += options_.batch) {
    const std::size_t samples = std::min(options_.batch, end - i);
    for (std::size_t j = 0; j < samples; ++j) take_sample(data_.test, i + j, j);
    network_->forward(samples);
    const Score score = network_->score(labels_);
    share.loss += score.loss;
    share.correct += score.correct;
  }
  return share;
}

Result<Metrics> FashionMnist::evaluate() {
  const std::uint64_t shared = fingerprint();
  if (Status equal = check_equal(*communicator_, shared); !equal) return equal;
  Result<std::vector<Metric>> metrics = test_metrics(*communicator_, score_share(), data_.test.count);
  if (!metrics) return metrics.status();
  double squares = 0;
  for (const Layer& layer : network_->layers()) squares += squared_norm(layer.gradient);
  std::vector<Metric> details = averages_->importance();
  details.insert(
      details.begin(),
      {.name = "gradient_norm", .value = std::sqrt(squares), .description = "L2 norm of the last averaged gradient"});
  if (options_.xi_every > 0) {
    const Result<double> xi = averages_->xi(*communicator_);
    if (!xi) return xi.status();
    details.push_back({.name = "xi",
                       .value = *xi,
                       .description = "how far the last measured average was from the best one of as many elements, "
                                      "divided by the dense average (Ok-Topk, equation 5)"});
  }
  return Metrics{.values = *std::move(metrics), .fingerprint = shared, .details = std::move(details)};
}

std::uint64_t FashionMnist::fingerprint() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : network_->layers()) sum = workloads::fingerprint(layer.parameters, sum);
  return sum;
}

std::vector<StateItem> FashionMnist::state() {
  std::vector<StateItem> items;
  for (std::size_t l = 0; l < network_->layers().size(); ++l) {
    Layer& layer = network_->layers()[l];
    const std::string name = fmt::format("layer{}.", l);
    items.push_back({name + "parameters", Dtype::F32, layer.parameters.data(), layer.parameters.size()});
    items.push_back({name + "momentum", Dtype::F32, layer.momentum.data(), layer.momentum.size()});
  }
  for (StateItem& item : averages_->state()) items.push_back(std::move(item));
  return items;
}

}  // namespace

std::vector<std::size_t> widths_of(const FashionMnistOptions& options, std::size_t pixels) {
  std::vector<std::size_t> widths = {pixels};
  widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
  widths.push_back(classes);
  return widths;
}

float rate_at(const FashionMnistOptions& options, std::uint64_t step, std::uint64_t steps) {
  const double left = 1 - static_cast<double>(step) / static_cast<double>(steps);
  return static_cast<float>(options.learning_rate * (options.decay == Decay::Linear ? left : 1));
}

std::unique_ptr<Workload> make_fashion_mnist(const FashionMnistOptions& options) {
  return std::make_unique<FashionMnist>(options);
}

}  // namespace lacuna::workloads
