#include "tests/conformance/example.hpp"

#include <fmt/format.h>

#include "algorithms/registry/registry.hpp"
#include "tests/conformance/fault.hpp"

namespace lacuna::conformance {

Call Example::call(MethodState& state, std::size_t count) const {
  Call call{.collective = algorithm->collective, .count = count, .dtype = Dtype::F64};
  call.options.algorithm = algorithm->name;
  call.options.method = options;
  call.options.state = &state;
  return call;
}

namespace {

/// Adds the method with these options, by each of its algorithms that ranks on these hosts accept.
void add_examples(const Method& method, std::string_view text, const Hosts& hosts, std::size_t count,
                  std::vector<Example>& all) {
  const auto options = method_options(text);
  demand(options.is_ok(), "{}", options.status().to_string());
  MethodState state;
  for (const MethodAlgorithm& one : method.algorithms) {
    Example example{&method, *options, one.algorithm,
                    fmt::format("{} by {} {} P={} count={}", to_string(one.algorithm->collective), one.name, text,
                                hosts.size(), count)};
    if (select_algorithm(example.call(state, count), hosts)) all.push_back(std::move(example));
  }
}

void keep_allreduces(std::vector<Example>& all) {
  std::erase_if(all, [](const Example& one) { return one.algorithm->collective != Collective::Allreduce; });
}

}  // namespace

std::vector<Example> examples_of_all_collectives(const Method& method, const Hosts& hosts, std::size_t count) {
  std::vector<Example> all;
  for (std::string_view text : method.examples) {
    add_examples(method, fmt::format("{}:{}", method.name, text), hosts, count, all);
  }
  return all;
}

std::vector<Example> examples_of(const Method& method, const Hosts& hosts, std::size_t count) {
  std::vector<Example> all = examples_of_all_collectives(method, hosts, count);
  keep_allreduces(all);
  return all;
}

std::vector<Example> defaults_of(const Method& method, const Hosts& hosts, std::size_t count) {
  std::vector<Example> all;
  add_examples(method, method.name, hosts, count, all);
  keep_allreduces(all);
  return all;
}

}  // namespace lacuna::conformance
