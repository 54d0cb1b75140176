#include "bindings/cli/run/workloads.hpp"

#include <fmt/format.h>

#include <limits>

#include "examples/workloads/embeddings/embeddings.hpp"
#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "examples/workloads/heat/heat.hpp"
#include "examples/workloads/parallel_mlp/parallel_mlp.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

using workloads::Averaged;
using workloads::Decay;
using workloads::Shards;

constexpr std::int64_t most_images = 1'000'000'000, most_bytes = 1'000'000'000'000;
constexpr std::int64_t most_width = 65536;                      // of a layer
constexpr std::int64_t most_points = 1 << 20, most_waves = 64;  // along a side; of the first temperature
constexpr std::int64_t most_clicks = 100'000'000, most_categories = 10'000'000, most_fields = 100;

constexpr Key shards_key{"shards", "which samples a rank draws from: all, its own part, or (by_class) its own classes"},
    hidden_key{"hidden", "outputs of each hidden dense layer"};

std::vector<std::size_t> sizes(ConfigSection& section, Key key, std::vector<std::int64_t> fallback,
                               std::int64_t most = most_width) {
  std::vector<std::size_t> all;
  for (const std::int64_t size : section.integers(key, 1, most, std::move(fallback))) {
    all.push_back(static_cast<std::size_t>(size));
  }
  return all;
}

workloads::FashionMnistOptions model_of(ConfigSection& section) {
  workloads::FashionMnistOptions options;
  options.folder = section.text({"path", "the folder of the data set's four files"}, options.folder.string());
  options.images = static_cast<std::size_t>(
      section.integer({"images", "only so many of the first training images are used; 0: all"}, 0, most_images, 0));
  options.shards = section.choice(shards_key, {Shards::Mixed, Shards::Own, Shards::ByClass});
  options.batch = static_cast<std::size_t>(section.integer({"batch", "samples of each rank and step"}, 1, 65536, 16));
  options.hidden = sizes(section, hidden_key, {512, 256});
  options.learning_rate =
      section.number({"learning_rate", "by which a step multiplies the gradient"}, 0, 100, options.learning_rate);
  options.momentum =
      section.number({"momentum", "of gradient descent; a method's own momentum replaces it"}, 0, 1, options.momentum);
  options.decay = section.choice({"decay", "how the learning rate falls; linear: to zero at the last step"},
                                 {Decay::None, Decay::Linear});
  return options;
}

std::unique_ptr<Workload> fashion_mnist(ConfigSection& section, Rank) {
  workloads::FashionMnistOptions options = model_of(section);
  options.filters = sizes(section, {"filters", "filters of each convolution before the dense layers"}, {});
  options.averaged = section.choice(
      {"average", "what ranks average: gradients, or steps, which are gradients times the learning rate"},
      {Averaged::Gradients, Averaged::Steps});
  options.bucket_bytes = static_cast<std::size_t>(section.integer(
      {"bucket_bytes", "layers are averaged together until they have so many bytes; 0: one by one"}, 0, most_bytes, 0));
  options.xi_every = static_cast<std::uint64_t>(section.integer(
      {"xi_every", "steps from one comparison with dense averages to the next, which gives xi; 0: never"}, 0,
      most_steps, 0));
  return workloads::make_fashion_mnist(options);
}

std::unique_ptr<Workload> parallel_mlp(ConfigSection& section, Rank ranks) {
  const auto size = [&](Key key) { return static_cast<Rank>(section.integer(key, 1, 65536, 1)); };
  workloads::ParallelMlpOptions options;
  options.model = model_of(section);
  options.grid = {.data = size({"data", "replicas of the network, which share the batch"}),
                  .tensor = size({"tensor", "ranks that share each layer"}),
                  .pipeline = size({"pipeline", "stages of layers; data x tensor x pipeline is the number of ranks"})};
  options.micro_batches = static_cast<std::size_t>(
      section.integer({"micro_batches", "into how many parts a rank's batch is cut for the pipeline"}, 1, 65536, 1));
  if (const Status fits = check(options, ranks); !fits) section.error("kind", fits.message());
  return workloads::make_parallel_mlp(options);
}

std::unique_ptr<Workload> embeddings(ConfigSection& section, Rank) {
  workloads::EmbeddingsOptions options;
  const auto number = [&](Key key, std::int64_t low, std::int64_t high, std::size_t fallback) {
    return static_cast<std::size_t>(section.integer(key, low, high, static_cast<std::int64_t>(fallback)));
  };
  const std::vector<std::int64_t> usual(options.vocabularies.begin(), options.vocabularies.end());
  options.vocabularies = sizes(section, {"vocabularies", "categories of each field"}, usual, most_categories);
  if (options.vocabularies.empty() || options.vocabularies.size() > most_fields) {
    section.error("vocabularies", fmt::format("'vocabularies' has {}, allowed are 1 to {}",
                                              count_of(options.vocabularies.size(), "field"), most_fields));
  }
  options.samples = number({"samples", "training samples, which are drawn"}, 1, most_clicks, options.samples);
  options.test_samples = number({"test_samples", "test samples"}, 1, most_clicks, options.test_samples);
  options.data_seed = number({"data_seed", "the samples follow from it"}, 0, std::numeric_limits<std::int64_t>::max(),
                             options.data_seed);
  options.shards = section.choice(shards_key, {Shards::Mixed, Shards::Own});
  options.batch = number({"batch", "samples of each rank and step"}, 1, most_width, options.batch);
  options.width = number({"width", "numbers in a row of the table of embeddings"}, 2, most_width, options.width);
  options.hidden = sizes(section, hidden_key, {32});
  options.learning_rate = section.number({"learning_rate", "of the perceptron"}, 0, 100, options.learning_rate);
  options.table_learning_rate =
      section.number({"table_learning_rate", "of the table of embeddings"}, 0, 10000, options.table_learning_rate);
  return workloads::make_embeddings(options);
}

std::unique_ptr<Workload> heat(ConfigSection& section, Rank ranks) {
  workloads::HeatOptions options;
  const auto number = [&](Key key, std::int64_t low, std::int64_t high, std::uint64_t fallback) {
    return static_cast<std::size_t>(section.integer(key, low, high, static_cast<std::int64_t>(fallback)));
  };
  options.rows =
      number({"rows", "points of the grid along a column, without the border"}, 1, most_points, options.rows);
  options.columns = number({"columns", "points along a row"}, 1, most_points, options.columns);
  options.periodic =
      section.flag({"periodic", "the domain has no border; otherwise its border is held at 0"}, options.periodic);
  options.waves =
      number({"waves", "how many waves make the first temperature; the seed draws them"}, 1, most_waves, options.waves);
  options.highest_wave = number({"highest_wave", "half waves along a side are 1 to this many; whole waves if periodic"},
                                1, most_waves, options.highest_wave);
  options.time_step = section.number({"time_step", "a step's length, as a part of the longest that is stable"}, 0, 1,
                                     options.time_step);
  options.residual_every = number({"residual_every", "steps from one allreduce of the residual to the next"}, 1,
                                  most_steps, options.residual_every);
  options.evaluate_every =
      number({"evaluate_every", "steps from one evaluation to the next"}, 1, most_steps, options.evaluate_every);
  options.process_rows = static_cast<Rank>(
      number({"process_rows", "rows of the grid of ranks; 0: its sides differ as little as possible"}, 0, 65536, 0));
  if (const Status fits = check(options, ranks); !fits) section.error("kind", fits.message());
  return workloads::make_heat(options);
}

struct Entry {
  const char* kind;
  std::unique_ptr<Workload> (*make)(ConfigSection& section, Rank ranks);
};

constexpr Entry entries[] = {
    {"embeddings", embeddings}, {"fashion_mnist", fashion_mnist}, {"heat", heat}, {"parallel_mlp", parallel_mlp}};

}  // namespace

const std::vector<std::string>& workload_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const Entry& entry : entries) names.emplace_back(entry.kind);
    return names;
  }();
  return kinds;
}

std::unique_ptr<Workload> make_workload(const std::string& kind, ConfigSection& section, Rank ranks) {
  for (const Entry& entry : entries) {
    if (entry.kind == kind) return entry.make(section, ranks);
  }
  return nullptr;
}

}  // namespace lacuna::cli
