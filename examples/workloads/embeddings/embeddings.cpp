#include "examples/workloads/embeddings/embeddings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "examples/workloads/embeddings/click_model.hpp"
#include "examples/workloads/embeddings/click_scores.hpp"
#include "examples/workloads/embeddings/clicks.hpp"
#include "examples/workloads/embeddings/row_average.hpp"
#include "examples/workloads/fashion_mnist/averages.hpp"
#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/training.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *table_name = "table", *perceptron_name = "perceptron";

void descend(std::vector<float>& parameters, const std::vector<float>& gradient, double rate) {
  const auto factor = static_cast<float>(rate);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= factor * gradient[i];
}

std::size_t rows_of(const EmbeddingsOptions& options) {
  return std::accumulate(options.vocabularies.begin(), options.vocabularies.end(), std::size_t{0});
}

class Embeddings final : public Workload {
 public:
  explicit Embeddings(const EmbeddingsOptions& options) : options_(options) {}

  Status load() override;
  std::vector<std::string> tensors() const override { return {table_name, perceptron_name}; }
  bool has_lists() const override { return true; }
  Result<std::uint64_t> steps_per_epoch(Rank ranks) const override;
  std::vector<GradientShape> gradients(const Task& task) const override;
  Status set_up(Communicator& communicator, const Task& task) override;
  Result<double> step(std::uint64_t step) override;
  Result<Metrics> evaluate() override;
  std::vector<StateItem> state() override;
  std::chrono::nanoseconds waited() const override { return waited_; }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(communicator_->size()); }
  std::size_t rank() const { return static_cast<std::size_t>(communicator_->rank()); }
  BatchSizes batch_sizes(std::size_t replicas) const { return {training_.count(), options_.batch, replicas}; }
  /// Returns what averages the gradient of one tensor.
  Averages averages_of(const AveragedLayer& tensor) const;
  Status give_table();
  /// Waits until the average of the table is there, and moves against it.
  Status take_table();
  template <class Average>
  Status take_average(Average&& take);
  std::span<const float> forward(const Clicks& from, std::span<const std::uint32_t> samples);
  Result<std::vector<float>> test_log_odds();
  Result<std::vector<Metric>> densities();

  EmbeddingsOptions options_;
  Clicks training_, test_;
  std::optional<ClickModel> model_;
  std::vector<std::uint32_t> rows_;  // those of the samples of a pass
  std::vector<std::uint8_t> labels_;
  std::optional<Averages> table_average_, perceptron_average_;
  std::optional<RowAverage> row_average_;  // instead of table_average_, if the method asks for lists
  Communicator* communicator_ = nullptr;
  Task task_;
  Batches batches_;
  std::chrono::nanoseconds waited_{0};
};

Status Embeddings::load() {
  try {
    const ClickSource source(options_.vocabularies, options_.data_seed);
    training_ = source.make(0, options_.samples);
    test_ = source.make(options_.samples, options_.test_samples);
    model_.emplace(ClickModelShape{.fields = options_.vocabularies.size(),
                                   .rows = source.rows(),
                                   .width = options_.width,
                                   .hidden = options_.hidden},
                   options_.batch);
    return Status::ok();
  } catch (const std::exception&) {  // bad_alloc or length_error
    return {Code::InvalidArgument, fmt::format("there is not so much memory: {} and tables of {} x {} numbers",
                                               count_of(options_.samples + options_.test_samples, "sample"),
                                               rows_of(options_), options_.width)};
  }
}

Result<std::uint64_t> Embeddings::steps_per_epoch(Rank ranks) const {
  return workloads::steps_per_epoch(batch_sizes(static_cast<std::size_t>(ranks)));
}

std::vector<GradientShape> Embeddings::gradients(const Task& task) const {
  const auto shape = [&](const char* name, std::size_t count) {
    return GradientShape{
        .name = name, .count = count, .with_method = task.method.only.empty() || task.method.only == name};
  };
  return {shape(table_name, model_->table().size()), shape(perceptron_name, model_->perceptron().parameters().size())};
}

Averages Embeddings::averages_of(const AveragedLayer& tensor) const {
  Task task = task_;
  if (!task.method.only.empty() && task.method.only != tensor.name) task.method = {.label = task.method.label};
  return Averages(task, {tensor});
}

Status Embeddings::set_up(Communicator& communicator, const Task& task) {
  if (Status enough = steps_per_epoch(communicator.size()).status(); !enough) return enough;
  communicator_ = &communicator;
  task_ = task;
  batches_ = Batches(batch_sizes(ranks()), rank(), task.seed, options_.shards);
  waited_ = {};
  model_->initialise(task.seed);
  const std::size_t in_table = model_->table().size(), others = model_->perceptron().parameters().size();
  table_average_.reset();
  row_average_.reset();
  if (task.method.lists) {
    if (!task.method.only.empty() && task.method.only != table_name) {
      return {Code::InvalidArgument,
              fmt::format("'lists' is for the tensor {}, but 'only' is {}: it must be {} or be left out", table_name,
                          task.method.only, table_name)};
    }
    if (task.tap) return {Code::InvalidArgument, "gradients that are lists can't be recorded: leave 'lists' out"};
    const std::size_t room = ranks() * options_.batch * options_.vocabularies.size();
    row_average_.emplace(task.method, rows_of(options_), options_.width, std::min(room, rows_of(options_)));
  } else {
    table_average_.emplace(averages_of({.number = 0, .name = table_name, .weights = in_table, .parameters = in_table}));
  }
  perceptron_average_.emplace(
      averages_of({.number = 1, .name = perceptron_name, .weights = others, .parameters = others}));
  if (Status served = row_average_ ? row_average_->check(communicator) : table_average_->check(communicator); !served) {
    return served;
  }
  return perceptron_average_->check(communicator);
}

/// Passes samples, which are given by their numbers, through the model.
std::span<const float> Embeddings::forward(const Clicks& from, std::span<const std::uint32_t> samples) {
  rows_.clear();
  labels_.clear();
  for (const std::uint32_t sample : samples) {
    const std::span<const std::uint32_t> rows = from.sample(sample);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    labels_.push_back(from.labels[sample]);
  }
  return model_->forward(rows_);
}

/// The perceptron's gradient is averaged while the table's is taken.
Result<double> Embeddings::step(std::uint64_t step) {
  const std::span<const float> log_odds = forward(training_, batches_.take(step));
  double loss = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) loss += log_loss(log_odds[i], labels_[i]);
  Perceptron& perceptron = model_->perceptron();
  model_->perceptron_gradient(labels_);
  if (Status given = perceptron_average_->give(*communicator_, 0, perceptron.gradient()); !given) return given;
  if (Status given = give_table(); !given) return given;
  if (Status taken = take_average([&] { return perceptron_average_->take(0); }); !taken) return taken;
  descend(perceptron.parameters(), perceptron.gradient(), options_.learning_rate);
  if (Status taken = take_table(); !taken) return taken;
  return loss / static_cast<double>(labels_.size());
}

Status Embeddings::give_table() {
  if (row_average_) return row_average_->give(*communicator_, rows_, model_->row_gradients());
  model_->table_gradient();
  return table_average_->give(*communicator_, 0, model_->gradient());
}

Status Embeddings::take_table() {
  if (!row_average_) {
    const Status taken = take_average([&] { return table_average_->take(0); });
    if (taken) descend(model_->table(), model_->gradient(), options_.table_learning_rate);
    return taken;
  }
  const Status taken = take_average([&] { return row_average_->take(); });
  if (!taken) return taken;
  const auto factor = static_cast<float>(options_.table_learning_rate);
  const float* gradient = row_average_->average().data();
  for (const std::uint32_t row : row_average_->rows()) {
    float* const numbers = model_->table().data() + row * options_.width;
    for (std::size_t j = 0; j < options_.width; ++j) numbers[j] -= factor * *gradient++;
  }
  return taken;
}

template <class Average>
Status Embeddings::take_average(Average&& take) {
  const Clock::time_point begin = Clock::now();
  const Status done = take();
  waited_ += Clock::now() - begin;
  return done;
}

/// Each rank passes its share of the test samples. Every sample has one rank whose number is not zero.
Result<std::vector<float>> Embeddings::test_log_odds() {
  std::vector<float> all(test_.count());
  const std::size_t end = test_.count() * (rank() + 1) / ranks();
  std::vector<std::uint32_t> samples;
  for (std::size_t begin = test_.count() * rank() / ranks(); begin < end; begin += samples.size()) {
    samples.resize(std::min(options_.batch, end - begin));
    std::iota(samples.begin(), samples.end(), static_cast<std::uint32_t>(begin));
    std::ranges::copy(forward(test_, samples), all.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  if (Status told = communicator_->call(allreduce(all, all)); !told) return told;
  return all;
}

/// Returns the share of the table's rows that the last step's samples had: those of one rank, on average, and those of
/// all ranks together.
Result<std::vector<Metric>> Embeddings::densities() {
  std::vector<std::uint8_t> touched = model_->touched();
  const auto share = [&] {
    return static_cast<double>(std::count(touched.begin(), touched.end(), 1)) / static_cast<double>(touched.size());
  };
  std::array<double, 1> own = {share()};
  if (Status told = communicator_->call(allreduce(own, own, Reduction::Avg)); !told) return told;
  if (Status told = communicator_->call(allreduce(touched, touched, Reduction::Max)); !told) return told;
  return std::vector<Metric>{
      {.name = "row_density",
       .value = own[0],
       .description = "share of the table's rows that a rank's samples of the last step had"},
      {.name = "union_row_density",
       .value = share(),
       .description = "share of the table's rows that the samples of all ranks of the last step had"}};
}

Result<Metrics> Embeddings::evaluate() {
  const std::uint64_t shared = fingerprint(model_->perceptron().parameters(), fingerprint(model_->table(), 0));
  if (Status equal = check_equal(*communicator_, shared); !equal) return equal;
  Result<std::vector<Metric>> details = densities();
  if (!details) return details.status();
  const Result<std::vector<float>> log_odds = test_log_odds();
  if (!log_odds) return log_odds.status();
  const ClickScores scores = click_scores(*log_odds, test_.labels);
  return Metrics{
      .values =
          {{.name = "test_auc", .value = scores.auc, .description = "area under the ROC curve of the test samples"},
           {.name = "test_log_loss", .value = scores.log_loss, .description = "mean cross entropy of the test samples"},
           {.name = "test_accuracy",
            .value = scores.accuracy,
            .percent = true,
            .description = "share of the test samples that are foretold rightly"}},
      .fingerprint = shared,
      .details = *std::move(details)};
}

std::vector<StateItem> Embeddings::state() {
  std::vector<StateItem> items;
  const auto add = [&](std::string name, std::vector<float>& values) {
    items.push_back({std::move(name), Dtype::F32, values.data(), values.size()});
  };
  add("table.parameters", model_->table());
  add("perceptron.parameters", model_->perceptron().parameters());
  for (std::optional<Averages>* averages : {&table_average_, &perceptron_average_}) {
    if (!*averages) continue;
    for (StateItem& item : (*averages)->state()) items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

std::unique_ptr<Workload> make_embeddings(const EmbeddingsOptions& options) {
  return std::make_unique<Embeddings>(options);
}

}  // namespace lacuna::workloads
