#include "tests/support/told_method.hpp"

#include <memory>

#include "kernels/elements.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna::test {
namespace {

struct NoOptions {};

constexpr std::string_view names = "abcdefghijklmnop";

constexpr std::array<Measure, told_measures> rows = [] {
  std::array<Measure, told_measures> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {.name = names.substr(i, 1),
              .unit = Unit::Ratio,
              .adds_up = static_cast<AddsUp>(i % 4),
              .by = i == 0 ? CountedBy::Plan : CountedBy::Kernels};
  }
  return all;
}();

struct Tell {
  static constexpr std::string_view name = "tell";
  Read from;
  Write to;

  Status operator()(const KernelCall& call) const {
    for (std::size_t i = 0; i < from->count; ++i) {
      const auto value = kernels::load<double>(from->data, i);
      kernels::store(to->data, i, value);
      if (i > 0 && i < told_rows.size()) call.measures.tell(told_rows[i], value);
    }
    return {};
  }
};

void plan(const PlanRequest& request, Plan& plan) {
  for (std::size_t begin = 0; begin < request.call.count; begin += told_measures) {
    add_parts(request.call, {.data = {begin, told_measures}, .outcome = 1, .lossy = true}, request.hosts.size(),
              request.chunk_bytes, plan);
  }
  plan.reports = true;
  plan.measures.tell(told_rows[0], static_cast<double>(plan.parts.size()));
}

constexpr auto table = [] {
  std::array<const Measure*, told_measures> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = &told_rows[i];
  return all;
}();
constexpr std::string_view outcomes[] = {"dense", "told"};
extern const MethodAlgorithm algorithms[] = {{&told_algorithm, "told", "a test's"}};

constexpr Method method(MeasureTable measures) {
  Method made{};
  made.name = "told";
  made.summary = "a test's";
  made.measures = measures;
  made.outcomes = outcomes;
  made.algorithms = algorithms;
  made.make = option::make<NoOptions>;
  made.is_on = [](const void*) { return true; };
  made.plan = plan;
  return made;
}

}  // namespace

extern const std::array<Measure, told_measures> told_rows = rows;

extern const Algorithm told_algorithm = {
    .collective = Collective::Allreduce,
    .name = "told",
    .summary = "no message",
    .symmetric = true,
    .build = [](GraphBuilder& g) { g.kernel(Tell{.from = g.input(), .to = g.output()}); },
};

extern const Method told_method = method(table);
extern const Method untold_method = method({});

MethodOptions told_options(const Method& method) { return {method, std::make_shared<const NoOptions>()}; }

}  // namespace lacuna::test
