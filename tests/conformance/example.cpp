#include "tests/conformance/example.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "algorithms/registry/registry.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/conformance/covering.hpp"
#include "tests/support/covering_rows.hpp"

namespace lacuna::conformance {
namespace {

/// Two that are to meet: what they are (an option by its number, or one of these), and which of their values. What is
/// only to be there meets itself.
constexpr std::size_t of_hosts = SIZE_MAX, of_count = SIZE_MAX - 1;
using Goal = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

Example example_of(const MethodAlgorithm& by, const MethodOptions& options, const Hosts& hosts, std::size_t count) {
  return {options.method(),
          options,
          by.algorithm,
          hosts,
          count,
          fmt::format("{} by {} {} P={} count={}", to_string(by.algorithm->collective), by.name, options.text(),
                      hosts.size(), count)};
}

/// Chooses examples of one algorithm.
class Choice {
 public:
  Choice(const Method& method, const MethodAlgorithm& by, const std::vector<Hosts>& all_hosts,
         const std::vector<std::size_t>& counts) {
    for (const CoveringOptions& one : covering_options(method, by)) {
      auto& shapes = shapes_.emplace_back();
      for (std::size_t i = 0; i < all_hosts.size(); ++i) {
        const Hosts& hosts = all_hosts[i];
        if (hosts.count() > 1 && !by.algorithm->by_hosts) continue;
        for (const std::size_t count : counts) {
          Example example = example_of(by, one.options, hosts, count);
          if (!example.is_accepted()) continue;
          shapes.push_back({std::move(example), goals_of(one.values, i, count)});
          open_.insert(shapes.back().goals.begin(), shapes.back().goals.end());
        }
      }
    }
  }

  /// Takes each row of options once, then more while there is something to meet.
  std::vector<Example> make() {
    std::vector<Example> chosen;
    for (auto& shapes : shapes_) {
      if (!shapes.empty()) chosen.push_back(take(best_of(shapes)));
    }
    while (!open_.empty()) {
      const Goal goal = *open_.begin();
      const Shaped* best = nullptr;
      for (const auto& shapes : shapes_) {
        for (const Shaped& one : shapes) {
          if (one.goals.count(goal) > 0 && (!best || gain(one) > gain(*best))) best = &one;
        }
      }
      chosen.push_back(take(*best));
    }
    return chosen;
  }

 private:
  struct Shaped {
    Example example;
    std::set<Goal> goals;
  };

  static std::set<Goal> goals_of(const std::vector<std::size_t>& values, std::size_t hosts, std::size_t count) {
    if (test::default_cover == test::Cover::Values) {
      return {{of_hosts, hosts, of_hosts, hosts}, {of_count, count, of_count, count}};
    }
    std::set<Goal> goals = {{of_hosts, hosts, of_count, count}};
    for (std::size_t option = 0; option < values.size(); ++option) {
      goals.insert({of_hosts, hosts, option, values[option]});
      goals.insert({of_count, count, option, values[option]});
    }
    return goals;
  }

  std::size_t gain(const Shaped& one) const {
    return static_cast<std::size_t>(
        std::count_if(one.goals.begin(), one.goals.end(), [&](const Goal& goal) { return open_.count(goal) > 0; }));
  }

  /// The one that makes most meet, of many ranks and elements if there is one.
  const Shaped& best_of(const std::vector<Shaped>& shapes) const {
    const auto is_large = [](const Shaped& one) { return one.example.size() > 2 && one.example.count > 16; };
    return *std::max_element(shapes.begin(), shapes.end(), [&](const Shaped& a, const Shaped& b) {
      return std::pair(is_large(a), gain(a)) < std::pair(is_large(b), gain(b));
    });
  }

  Example take(const Shaped& one) {
    for (const Goal& goal : one.goals) open_.erase(goal);
    return one.example;
  }

  std::vector<std::vector<Shaped>> shapes_;  // of each row of options
  std::set<Goal> open_;
};

std::vector<Example> chosen_of(const Method& method, const std::vector<Hosts>& hosts,
                               const std::vector<std::size_t>& counts, bool (*includes)(const Algorithm&)) {
  std::vector<Example> all;
  for (const MethodAlgorithm& one : method.algorithms) {
    if (!includes(*one.algorithm)) continue;
    for (const Example& chosen : Choice(method, one, hosts, counts).make()) {
      Example mean = chosen;
      mean.reduction = Reduction::Avg;
      mean.text += " avg";
      const bool averages = traits_of(one.algorithm->collective).averages && all.size() % 2 == 1;
      all.push_back(averages && mean.is_accepted() ? std::move(mean) : chosen);
    }
  }
  return all;
}

}  // namespace

Call Example::call(MethodState& state) const {
  Call call{.collective = algorithm->collective, .count = count, .dtype = Dtype::F64, .reduction = reduction};
  call.options.algorithm = algorithm->name;
  call.options.method = options;
  call.options.state = &state;
  return call;
}

bool Example::is_accepted() const {
  MethodState state;
  const Call made = call(state);
  return select_algorithm(made, hosts) && (!method->aggregates || method->aggregates(made, 0));
}

std::vector<std::size_t> Example::ranks_with_data() const {
  MethodState state;
  const Call made = call(state);
  Plan plan;
  make_plan({made, *algorithm, hosts, 1 << 18}, plan);
  const PartPlan& part = plan.parts.front();
  const Order order = order_of({made, *algorithm, hosts, state.sampler}, part);
  const Graphs graphs = *graphs_of(part.program ? *part.program : *algorithm, order.placed(hosts),
                                   {.structure = structure_of_call(part.structure, false)});
  std::vector<std::size_t> ranks;
  for (Rank rank = 0; rank < size(); ++rank) {
    const Graph& graph = graphs.at(order.position_of(rank));
    bool has_data = false;
    for (const Step& step : graph.steps()) {
      graph.each_access(step, [&](const Region& region, bool) {
        has_data = has_data || region.buffer == Buffer::Input || region.buffer == Buffer::Output;
      });
    }
    if (has_data || count == 0) ranks.push_back(static_cast<std::size_t>(rank));
  }
  return ranks;
}

std::vector<Example> examples_of(const Method& method, const std::vector<Rank>& sizes,
                                 const std::vector<std::size_t>& counts) {
  return chosen_of(method, std::vector<Hosts>(sizes.begin(), sizes.end()), counts,
                   [](const Algorithm& one) { return one.collective == Collective::Allreduce; });
}

std::vector<Example> examples_of_all_collectives(const Method& method, const std::vector<Hosts>& hosts,
                                                 const std::vector<std::size_t>& counts) {
  return chosen_of(method, hosts, counts, [](const Algorithm&) { return true; });
}

namespace {

void add_accepted(const Method& method, const MethodOptions& options, Rank size, std::size_t count,
                  std::vector<Example>& all) {
  for (const MethodAlgorithm& one : method.algorithms) {
    Example example = example_of(one, options, size, count);
    if (one.algorithm->collective == Collective::Allreduce && example.is_accepted()) all.push_back(std::move(example));
  }
}

}  // namespace

std::vector<Example> written_examples_of(const Method& method, Rank size, std::size_t count) {
  std::vector<Example> all;
  for (const std::string_view text : method.examples) {
    add_accepted(method, *method_options(fmt::format("{}:{}", method.name, text)), size, count, all);
  }
  return all;
}

std::vector<Example> defaults_of(const Method& method, Rank size, std::size_t count) {
  std::vector<Example> all;
  add_accepted(method, {method, method.make(nullptr)}, size, count, all);
  return all;
}

}  // namespace lacuna::conformance
