#include "tests/support/parts_method.hpp"

#include <memory>

#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/region.hpp"

namespace lacuna::test {
namespace {

void plan(const PlanRequest& request, Plan& plan) {
  const auto& asked = request.call.options.method.as<Parts>();
  plan.in_flight = asked.in_flight;
  for (std::size_t i = 0; i < asked.parts; ++i) {
    const std::size_t begin = boundary(i, request.call.count, asked.parts);
    PartPlan& part = plan.parts.emplace_back();
    part.data = {begin, boundary(i + 1, request.call.count, asked.parts) - begin};
    part.outcome = 1;
    part.lossy = true;
    part.draw = static_cast<std::uint32_t>(i);
  }
}

constexpr std::string_view outcomes[] = {"dense", "cut"};
extern const MethodAlgorithm algorithms[] = {{&parts_algorithm, "parts", "a test's"}};

}  // namespace

extern const Algorithm parts_algorithm = {
    .collective = Collective::Allreduce,
    .name = "parts",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          g.send(g.input(), g.position() + 1);
          g.receive_reduce(g.output(), g.input(), g.position() - 1, Brings::Term);
        },
};

extern const Method parts_method = {
    .name = "parts",
    .summary = "a test's",
    .outcomes = outcomes,
    .algorithms = algorithms,
    .make = option::make<Parts>,
    .is_on = [](const void*) { return true; },
    .plan = plan,
};

namespace {

/// parts_method, which is asked what follows a part.
const Method asked_method = [] {
  Method method = parts_method;
  method.follow = [](const Followed&) { return std::optional<PartPlan>(); };
  return method;
}();

}  // namespace

MethodOptions parts_options(const Parts& options) {
  return {options.asks ? asked_method : parts_method, std::make_shared<const Parts>(options)};
}

}  // namespace lacuna::test
