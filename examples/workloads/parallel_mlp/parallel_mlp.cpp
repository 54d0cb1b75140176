#include "examples/workloads/parallel_mlp/parallel_mlp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "examples/workloads/fashion_mnist/averages.hpp"
#include "examples/workloads/fashion_mnist/batches.hpp"
#include "examples/workloads/fashion_mnist/data.hpp"
#include "examples/workloads/fashion_mnist/loss.hpp"
#include "examples/workloads/fashion_mnist/training.hpp"
#include "examples/workloads/parallel_mlp/pipeline_stage.hpp"
#include "examples/workloads/parallel_mlp/schedule.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int loss_tag = 2;

class ParallelMlp final : public Workload {
 public:
  explicit ParallelMlp(const ParallelMlpOptions& options) : options_(options) {}

  Status load() override;
  Result<std::uint64_t> steps_per_epoch(Rank ranks) const override;
  bool depends_on_steps() const override { return options_.model.decay != Decay::None; }
  Status set_up(Communicator& communicator, const Task& task) override;
  Result<double> step(std::uint64_t step) override;
  Result<Metrics> evaluate() override;
  std::vector<StateItem> state() override;
  std::chrono::nanoseconds waited() const override { return waited_ + stage_->waited(); }

 private:
  std::size_t replicas() const { return static_cast<std::size_t>(options_.grid.data); }
  std::size_t replica() const { return static_cast<std::size_t>(grid_->place.data); }
  BatchSizes batch_sizes() const { return {data_.training.count, options_.model.batch, replicas()}; }
  std::size_t micro_samples() const { return options_.model.batch / options_.micro_batches; }
  std::size_t slot_of(std::size_t micro_batch) const { return micro_batch % slots_; }
  Status check_method();
  void enter(const LabelledImages& from, std::span<const std::uint32_t> samples, std::size_t slot);
  std::span<const float> outputs_by_samples(std::size_t slot);
  Status run_passes(std::span<const std::uint32_t> batch);
  Status backward(std::size_t micro_batch);
  void judge(std::size_t slot);
  Status start_average(std::size_t layer);
  Status finish_averages(float rate);
  Result<double> share_loss();
  Result<Score> score_share();
  Result<double> gradient_norm();
  Result<std::uint64_t> shared_fingerprint();

  ParallelMlpOptions options_;
  FashionMnistData data_;
  Communicator* world_ = nullptr;
  Task task_;
  Batches batches_;
  std::optional<Grid> grid_;
  std::optional<PipelineStage> stage_;
  std::size_t slots_ = 1;
  std::vector<PipelineStep> schedule_;
  std::vector<std::vector<std::uint8_t>> labels_;  // by slot
  std::vector<float> by_samples_;                  // the outputs, with a row for each sample
  std::vector<float> delta_by_samples_;
  std::optional<Averages> averages_;
  double loss_ = 0;  // loss of this replica's batch
  std::chrono::nanoseconds waited_{0};
};

Status ParallelMlp::load() {
  Result<FashionMnistData> data = read_fashion_mnist(options_.model.folder, options_.model.images);
  if (!data) return data.status();
  data_ = *std::move(data);
  return Status::ok();
}

Result<std::uint64_t> ParallelMlp::steps_per_epoch(Rank ranks) const {
  if (Status fits = check(options_, ranks); !fits) return fits;
  const std::vector<std::size_t> widths = widths_of(options_.model, data_.training.pixels);
  if (Status fits = check_cuts(widths, options_.grid.tensor); !fits) return fits;
  return workloads::steps_per_epoch(batch_sizes());
}

Status ParallelMlp::set_up(Communicator& communicator, const Task& task) {
  if (Status fits = steps_per_epoch(communicator.size()).status(); !fits) return fits;
  world_ = &communicator;
  task_ = task;
  stage_.reset();
  Result<Grid> grid = make_grid(communicator, options_.grid);
  if (!grid) return grid.status();
  grid_ = *std::move(grid);
  batches_ = Batches(batch_sizes(), replica(), task.seed, options_.model.shards, data_.training.labels);

  const auto stage = static_cast<std::size_t>(grid_->place.pipeline);
  const auto stages = static_cast<std::size_t>(options_.grid.pipeline);
  schedule_ = one_forward_one_backward(stage, stages, options_.micro_batches);
  slots_ = most_alive(stage, stages, options_.micro_batches);
  labels_.resize(slots_);
  stage_.emplace(*grid_, PipelineStage::Options{.widths = widths_of(options_.model, data_.training.pixels),
                                                .most_samples = micro_samples(),
                                                .slots = slots_});
  stage_->initialise(task.seed);
  waited_ = {};
  std::vector<AveragedLayer> layers;
  for (const SplitLayer& layer : stage_->layers()) {
    layers.push_back({.number = layer.shape().index,
                      .weights = layer.part().weights(),
                      .parameters = layer.part().parameters.size()});
  }
  averages_.emplace(task, layers);
  return check_method();
}

/// The config was checked for all ranks. This checks the groups of ranks that average gradients.
Status ParallelMlp::check_method() {
  const Status served = averages_->check(grid_->data);
  if (served) return served;
  return {served.code(), fmt::format("method '{}': gradients are averaged by groups of data = {} ranks: {}",
                                     task_.method.label, options_.grid.data, served.message())};
}

/// Puts the samples into that slot as a micro-batch.
void ParallelMlp::enter(const LabelledImages& from, std::span<const std::uint32_t> samples, std::size_t slot) {
  stage_->begin(slot, samples.size());
  labels_[slot].clear();
  for (const std::uint32_t sample : samples) labels_[slot].push_back(from.labels[sample]);
  if (!stage_->first()) return;
  const std::span<float> inputs = stage_->inputs(slot);
  const SplitLayer& layer = stage_->layers().front();
  for (std::size_t feature = 0; feature < layer.operand_features(); ++feature) {
    const std::size_t pixel = layer.first_operand_feature() + feature;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      inputs[feature * samples.size() + i] = normalised(from.images[samples[i] * from.pixels + pixel]);
    }
  }
}

Result<double> ParallelMlp::step(std::uint64_t step) {
  if (Status passed = run_passes(batches_.take(step)); !passed) return passed;
  if (Status finished = finish_averages(rate_at(options_.model, step, task_.steps)); !finished) return finished;
  return share_loss();
}

Status ParallelMlp::run_passes(std::span<const std::uint32_t> batch) {
  stage_->clear_gradients();
  loss_ = 0;
  for (const PipelineStep& pass : schedule_) {
    if (pass.direction == Direction::Forward) {
      const std::size_t slot = slot_of(pass.micro_batch);
      enter(data_.training, batch.subspan(pass.micro_batch * micro_samples(), micro_samples()), slot);
      if (Status done = stage_->forward(slot); !done) return done;
    } else {
      if (Status done = backward(pass.micro_batch); !done) return done;
    }
  }
  return Status::ok();
}

Status ParallelMlp::backward(std::size_t micro_batch) {
  const std::size_t slot = slot_of(micro_batch);
  if (stage_->last()) judge(slot);
  const bool complete = micro_batch + 1 == options_.micro_batches;
  return stage_->backward(slot, [&](std::size_t layer) { return complete ? start_average(layer) : Status::ok(); });
}

std::span<const float> ParallelMlp::outputs_by_samples(std::size_t slot) {
  by_samples_.resize(stage_->outputs(slot).size());
  transpose(stage_->outputs(slot).data(), classes, labels_[slot].size(), by_samples_.data());
  return by_samples_;
}

/// Adds to the loss, and begins the backward pass with the loss's gradient.
void ParallelMlp::judge(std::size_t slot) {
  const std::span<const float> outputs = outputs_by_samples(slot);
  loss_ += score(outputs, labels_[slot]).loss / static_cast<double>(options_.model.batch);
  delta_by_samples_.resize(outputs.size());
  loss_gradient(outputs, labels_[slot], 1.0F / static_cast<float>(options_.model.batch), delta_by_samples_);
  transpose(delta_by_samples_.data(), labels_[slot].size(), classes, stage_->output_delta(slot).data());
}

Status ParallelMlp::start_average(std::size_t layer) {
  return averages_->give(grid_->data, layer, stage_->layers()[layer].part().gradient);
}

Status ParallelMlp::finish_averages(float rate) {
  for (std::size_t layer = stage_->layers().size(); layer-- > 0;) {
    const Clock::time_point begin = Clock::now();
    const Status done = averages_->take(layer);
    waited_ += Clock::now() - begin;
    if (!done) return done;
    update(stage_->layers()[layer].part(), rate, averages_->momentum(options_.model.momentum));
    world_->progress();
  }
  return Status::ok();
}

/// Sends the loss from the last stage, which knows it, to the first, which shows it.
Result<double> ParallelMlp::share_loss() {
  std::array<double, 1> loss = {loss_};
  if (stage_->first() == stage_->last()) return loss_;
  const Clock::time_point begin = Clock::now();
  const Status done = stage_->last()
                          ? grid_->pipeline.send<double>(loss, 0, loss_tag)
                          : grid_->pipeline.receive<double>(loss, options_.grid.pipeline - 1, loss_tag).status();
  waited_ += Clock::now() - begin;
  if (!done) return done;
  return loss[0];
}

/// Scores this replica's share of the test images. The score is empty except on one rank of the last stage.
Result<Score> ParallelMlp::score_share() {
  const std::size_t end = data_.test.count * (replica() + 1) / replicas();
  Score share;
  std::vector<std::uint32_t> samples;
  for (std::size_t i = data_.test.count * replica() / replicas(); i < end; i += samples.size()) {
    samples.clear();
    for (std::size_t j = i; j < std::min(end, i + micro_samples()); ++j) {
      samples.push_back(static_cast<std::uint32_t>(j));
    }
    enter(data_.test, samples, 0);
    if (Status done = stage_->forward(0); !done) return done;
    if (!stage_->last() || grid_->place.tensor > 0) continue;
    const Score found = score(outputs_by_samples(0), labels_[0]);
    share.loss += found.loss;
    share.correct += found.correct;
  }
  return share;
}

Result<Metrics> ParallelMlp::evaluate() {
  const Result<std::uint64_t> fingerprint = shared_fingerprint();
  if (!fingerprint) return fingerprint.status();
  const Result<Score> share = score_share();
  if (!share) return share.status();
  Result<std::vector<Metric>> metrics = test_metrics(*world_, *share, data_.test.count);
  if (!metrics) return metrics.status();
  const Result<double> norm = gradient_norm();
  if (!norm) return norm.status();
  return Metrics{
      .values = *std::move(metrics),
      .fingerprint = *fingerprint,
      .details = {{.name = "gradient_norm", .value = *norm, .description = "L2 norm of the last averaged gradient"}}};
}

/// Returns the norm for the whole network. The ranks that share the last layer all have its biases.
Result<double> ParallelMlp::gradient_norm() {
  double own = 0;
  for (const SplitLayer& layer : stage_->layers()) {
    const std::span<const float> gradient = layer.part().gradient;
    const bool repeated = layer.shape().last() && grid_->place.tensor > 0;
    own += squared_norm(repeated ? gradient.first(layer.part().weights()) : gradient);
  }
  std::array<double, 1> squares = {own};
  if (Status summed = world_->call(allreduce(squares, squares)); !summed) return summed;
  return std::sqrt(squares[0] / static_cast<double>(replicas()));
}

/// Returns the fingerprint of one replica's parameters. It is a sum over layers, so that it does not depend on which
/// stage has them.
Result<std::uint64_t> ParallelMlp::shared_fingerprint() {
  std::uint64_t sum = 0;
  for (const SplitLayer& layer : stage_->layers()) sum += fingerprint(layer.part().parameters, layer.shape().index + 1);
  const std::array<std::int64_t, 1> mine = {static_cast<std::int64_t>(sum)};
  std::vector<std::int64_t> all(static_cast<std::size_t>(world_->size()));
  if (Status told = world_->call(allgather(mine, all)); !told) return told;
  const std::size_t ranks_of_replica = all.size() / replicas();
  std::uint64_t whole = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::size_t like = rank % ranks_of_replica;
    if (all[rank] != all[like]) {
      return Status(Code::Mismatch, fmt::format("the parameters differ between ranks {} and {} of two replicas: "
                                                "fingerprints {:016x} and {:016x}",
                                                like, rank, static_cast<std::uint64_t>(all[like]),
                                                static_cast<std::uint64_t>(all[rank])));
    }
    if (rank < ranks_of_replica) whole += static_cast<std::uint64_t>(all[rank]);
  }
  return whole;
}

std::vector<StateItem> ParallelMlp::state() {
  std::vector<StateItem> items;
  for (std::size_t l = 0; l < stage_->layers().size(); ++l) {
    SplitLayer& layer = stage_->layers()[l];
    Layer& part = layer.part();
    const std::string name = fmt::format("layer{}.", layer.shape().index);
    items.push_back({name + "parameters", Dtype::F32, part.parameters.data(), part.parameters.size()});
    items.push_back({name + "momentum", Dtype::F32, part.momentum.data(), part.momentum.size()});
  }
  for (StateItem& item : averages_->state()) items.push_back(std::move(item));
  return items;
}

}  // namespace

Status check(const ParallelMlpOptions& options, Rank ranks) {
  if (Status fits = check(options.grid, ranks); !fits) return fits;
  const std::size_t layers = options.model.hidden.size() + 1;
  if (static_cast<std::size_t>(options.grid.pipeline) > layers) {
    return {Code::InvalidArgument, fmt::format("{} layers cannot be shared by pipeline = {} stages; at most {} are "
                                               "allowed",
                                               layers, options.grid.pipeline, layers)};
  }
  if (options.micro_batches == 0 || options.model.batch % options.micro_batches != 0) {
    return {Code::InvalidArgument, fmt::format("a batch of {} cannot be cut into micro_batches = {}; its "
                                               "divisors are allowed",
                                               count_of(options.model.batch, "sample"), options.micro_batches)};
  }
  return check_cuts(widths_of(options.model, 0), options.grid.tensor);
}

std::unique_ptr<Workload> make_parallel_mlp(const ParallelMlpOptions& options) {
  return std::make_unique<ParallelMlp>(options);
}

}  // namespace lacuna::workloads
