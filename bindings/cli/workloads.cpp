#include "bindings/cli/workloads.hpp"

#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"
#include "examples/workloads/parallel_mlp/parallel_mlp.hpp"

namespace lacuna::cli {
namespace {

workloads::FashionMnistOptions model_of(ConfigSection& section) {
  workloads::FashionMnistOptions options;
  options.folder = section.text({"path"}, options.folder.string());
  options.batch = static_cast<std::size_t>(section.integer({"batch"}, 1, 65536, 16));
  options.hidden.clear();
  for (std::int64_t width : section.integers({"hidden"}, 1, 65536, {512, 256})) {
    options.hidden.push_back(static_cast<std::size_t>(width));
  }
  options.learning_rate = section.number({"learning_rate"}, 0, 100, options.learning_rate);
  options.momentum = section.number({"momentum"}, 0, 1, options.momentum);
  const std::string decay = section.one_of({"decay"}, {"none", "linear"}, "none");
  options.decay = decay == "linear" ? workloads::Decay::Linear : workloads::Decay::None;
  return options;
}

std::unique_ptr<Workload> fashion_mnist(ConfigSection& section, Rank) {
  return workloads::make_fashion_mnist(model_of(section));
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
