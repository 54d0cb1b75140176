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

std::vector<Example> examples_of_all_collectives(const Method& method, const Hosts& hosts, std::size_t count) {
  std::vector<Example> all;
  MethodState state;
  for (std::string_view text : method.examples) {
    const std::string whole = fmt::format("{}:{}", method.name, text);
    const auto options = method_options(whole);
    demand(options.is_ok(), "{}", options.status().to_string());
    for (const MethodAlgorithm& one : method.algorithms) {
      Example example{&method, *options, one.algorithm,
                      fmt::format("{} by {} {} P={} count={}", to_string(one.algorithm->collective), one.name, whole,
                                  hosts.size(), count)};
      if (select_algorithm(example.call(state, count), hosts)) all.push_back(std::move(example));
    }
  }
  return all;
}

std::vector<Example> examples_of(const Method& method, const Hosts& hosts, std::size_t count) {
  std::vector<Example> all = examples_of_all_collectives(method, hosts, count);
  std::erase_if(all, [](const Example& one) { return one.algorithm->collective != Collective::Allreduce; });
  return all;
}

}  // namespace lacuna::conformance
