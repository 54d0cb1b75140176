#include "algorithms/registry/check_method.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "algorithms/registry/method_text.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/graph/graphs.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {
namespace {

constexpr std::size_t count = 100;        // elements
constexpr std::size_t chunk_bytes = 256;  // so that a call has several parts

/// Adds to an error what was checked.
Status named(const Status& status, const std::string& what) {
  if (status) return status;
  return {status.code(), fmt::format("{}: {}", what, status.message())};
}

/// An example of a method with one of its algorithms, on so many ranks.
class Example {
 public:
  Example(const MethodAlgorithm& serving, MethodOptions options, Rank size)
      : serving_(serving), hosts_(size), call_{.collective = serving.algorithm->collective, .count = count} {
    call_.options.method = std::move(options);
    call_.options.state = &state_;
  }
  Example(const Example&) = delete;
  Example& operator=(const Example&) = delete;

  /// Does the method do what the example asks for, with elements of some type?
  bool is_accepted() {
    for (const Dtype dtype : {Dtype::F64, Dtype::F32}) {
      call_.dtype = dtype;
      const Algorithm& algorithm = *serving_.algorithm;
      if (algorithm.supports && !algorithm.supports(call_, hosts_)) continue;
      if (!method().check || method().check(call_, algorithm, hosts_)) return true;
    }
    return false;
  }

  /// Checks the graphs of three calls in a row.
  Status check() {
    std::set<std::pair<std::string, const Algorithm*>> seen;
    for (state_.runs = 0; state_.runs < 3; ++state_.runs) {
      const PlanRequest request{call_, *serving_.algorithm, hosts_, chunk_bytes};
      Plan plan;
      make_plan(request, plan);
      for (const PartPlan& part : plan.parts) {
        const Algorithm& program = part.program ? *part.program : *serving_.algorithm;
        if (!part.structure.parameters.belong_to(program.parameters)) {
          return {Code::InvalidArgument,
                  fmt::format("a part has parameters that program {} does not know", program.name)};
        }
        const bool is_new = seen.emplace(part.structure.parameters.text(), part.program).second;
        if (!is_new && !part.structure.frame) continue;
        if (Status fits = check_part(request, part, 1); !fits) return fits;
      }
    }
    return {};
  }

 private:
  const Method& method() const { return *call_.options.method.method(); }

  /// Checks the graphs of a part, and of the parts that follow it for some values.
  Status check_part(const PlanRequest& request, const PartPlan& part, std::uint32_t length) const {
    const Algorithm& program = part.program ? *part.program : request.algorithm;
    std::size_t decides = 0;
    for (const bool in_place : {false, true}) {
      const Structure structure = structure_of_call(part.structure, in_place);
      const auto graphs = graphs_of(program, hosts_, {.structure = structure});
      if (!graphs) return graphs.status();
      if (Status fits = verify(graphs->all()); !fits) return fits;
      decides = graphs->at(0).tables().decides.size();
    }
    constexpr std::uint32_t longest_chain = 4;
    if (!method().follow || length > longest_chain) return {};
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 30}) {
      const std::vector<std::uint64_t> values(decides, value);
      const auto next = method().follow({.request = request, .part = part, .length = length, .values = values});
      if (!next) continue;
      if (Status fits = check_part(request, *next, length + 1); !fits) {
        return named(fits, fmt::format("what follows for {}", value));
      }
    }
    return {};
  }

  const MethodAlgorithm& serving_;
  const Hosts hosts_;
  MethodState state_;
  Call call_;
};

/// Returns ok, or what the description lacks.
Status check_description(const Method& method) {
  const std::pair<bool, const char*> needs[] = {{!method.name.empty(), "name"},
                                                {!method.summary.empty(), "summary"},
                                                {method.make != nullptr, "make"},
                                                {method.is_on != nullptr, "is_on"},
                                                {method.plan != nullptr, "plan"},
                                                {!method.outcomes.empty(), "outcomes"},
                                                {!method.algorithms.empty(), "algorithms"},
                                                {!method.examples.empty(), "examples"}};
  for (const auto& [is_there, member] : needs) {
    if (!is_there) {
      return {Code::InvalidArgument, fmt::format("the method '{}' lacks its member `{}`", method.name, member)};
    }
  }
  for (const MethodAlgorithm& one : method.algorithms) {
    if (!one.name.empty() && one.algorithm && one.algorithm->build) continue;
    return {Code::InvalidArgument, fmt::format("the method '{}': its algorithm '{}' lacks {}", method.name, one.name,
                                               one.name.empty() ? "a name"
                                               : one.algorithm  ? "a build function"
                                                                : "its Algorithm")};
  }
  return {};
}

}  // namespace

Status check_method(const Method& method, Rank most) {
  if (Status whole = check_description(method); !whole) return whole;
  constexpr Rank shown_on = 4;
  for (const std::string_view text : method.examples) {
    const Result<MethodOptions> options = options_of(method, text);
    if (!options) return named(options.status(), fmt::format("the example {}:{}", method.name, text));
    bool works = false;
    for (const MethodAlgorithm& one : method.algorithms) {
      for (Rank size = 1; size <= most; ++size) {
        Example example(one, *options, size);
        if (!example.is_accepted()) continue;
        works = works || size == shown_on;
        const Status fits = example.check();
        if (!fits)
          return named(fits, fmt::format("{}:{} by {} on {}", method.name, text, one.name, count_of(size, "rank")));
      }
    }
    if (works || most < shown_on) continue;
    return {Code::InvalidArgument, fmt::format("no algorithm of the method accepts its example {}:{} on {} ranks",
                                               method.name, text, shown_on)};
  }
  return {};
}

}  // namespace lacuna
