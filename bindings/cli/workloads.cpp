#include "bindings/cli/workloads.hpp"

#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"

namespace lacuna::cli {
namespace {

std::unique_ptr<Workload> fashion_mnist(ConfigSection& section) {
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
  return workloads::make_fashion_mnist(options);
}

struct Entry {
  const char* kind;
  std::unique_ptr<Workload> (*make)(ConfigSection& section);
};

constexpr Entry entries[] = {{"fashion_mnist", fashion_mnist}};

}  // namespace

const std::vector<std::string>& workload_kinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const Entry& entry : entries) names.emplace_back(entry.kind);
    return names;
  }();
  return kinds;
}

std::unique_ptr<Workload> make_workload(const std::string& kind, ConfigSection& section) {
  for (const Entry& entry : entries) {
    if (entry.kind == kind) return entry.make(section);
  }
  return nullptr;
}

}  // namespace lacuna::cli
