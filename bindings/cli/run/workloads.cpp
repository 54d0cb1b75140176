#include "bindings/cli/run/workloads.hpp"

#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "examples/workloads/parallel_mlp/parallel_mlp.hpp"

namespace lacuna::cli {
namespace {

using workloads::Averaged;
using workloads::Decay;
using workloads::Shards;

constexpr std::int64_t most_images = 1'000'000'000, most_bytes = 1'000'000'000'000, most_steps = 1'000'000'000;

std::vector<std::size_t> sizes(ConfigSection& section, const char* key, std::vector<std::int64_t> fallback) {
  std::vector<std::size_t> all;
  for (const std::int64_t size : section.integers({key}, 1, 65536, std::move(fallback))) {
    all.push_back(static_cast<std::size_t>(size));
  }
  return all;
}

workloads::FashionMnistOptions model_of(ConfigSection& section) {
  workloads::FashionMnistOptions options;
  options.folder = section.text({"path"}, options.folder.string());
  options.images = static_cast<std::size_t>(section.integer({"images"}, 0, most_images, 0));
  options.shards = section.choice({"shards"}, {Shards::Mixed, Shards::Own, Shards::ByClass});
  options.batch = static_cast<std::size_t>(section.integer({"batch"}, 1, 65536, 16));
  options.hidden = sizes(section, "hidden", {512, 256});
  options.learning_rate = section.number({"learning_rate"}, 0, 100, options.learning_rate);
  options.momentum = section.number({"momentum"}, 0, 1, options.momentum);
  options.decay = section.choice({"decay"}, {Decay::None, Decay::Linear});
  return options;
}

std::unique_ptr<Workload> fashion_mnist(ConfigSection& section, Rank) {
  workloads::FashionMnistOptions options = model_of(section);
  options.filters = sizes(section, "filters", {});
  options.averaged = section.choice({"average"}, {Averaged::Gradients, Averaged::Steps});
  options.bucket_bytes = static_cast<std::size_t>(section.integer({"bucket_bytes"}, 0, most_bytes, 0));
  options.xi_every = static_cast<std::uint64_t>(section.integer({"xi_every"}, 0, most_steps, 0));
  return workloads::make_fashion_mnist(options);
}

std::unique_ptr<Workload> parallel_mlp(ConfigSection& section, Rank ranks) {
  const auto size = [&](const char* key) { return static_cast<Rank>(section.integer({key}, 1, 65536, 1)); };
  workloads::ParallelMlpOptions options;
  options.model = model_of(section);
  options.grid = {.data = size("data"), .tensor = size("tensor"), .pipeline = size("pipeline")};
  options.micro_batches = static_cast<std::size_t>(section.integer({"micro_batches"}, 1, 65536, 1));
  if (const Status fits = check(options, ranks); !fits) section.error("kind", fits.message());
  return workloads::make_parallel_mlp(options);
}

struct Entry {
  const char* kind;
  std::unique_ptr<Workload> (*make)(ConfigSection& section, Rank ranks);
};

constexpr Entry entries[] = {{"fashion_mnist", fashion_mnist}, {"parallel_mlp", parallel_mlp}};

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
