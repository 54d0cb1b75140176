#include "tests/support/paired_sum.hpp"

#include <memory>

#include "kernels/elements.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::test {
namespace {

struct TellLengths {
  static constexpr std::string_view name = "tell lengths";
  Define first_out, last_out, first_in, last_in;
  Define last_out_begin, last_in_begin;

  Status operator()(const KernelCall& call) const {
    const auto& asked = call.part.call.options.method.as<PairedSum>();
    const PairedSum::Lengths &out = asked.of[call.part.position], &in = asked.of[1 - call.part.position];
    *first_out = out.first;
    *last_out = out.last;
    *last_out_begin = call.part.count - out.last;
    *first_in = in.first;
    *last_in = in.last;
    *last_in_begin = call.part.count - in.last;
    return {};
  }
};

struct AddBoth {
  static constexpr std::string_view name = "add both";
  Read first, last;
  Write sum;

  Status operator()(const KernelCall&) const {
    add(*first, 0);
    add(*last, sum->count - last->count);
    return {};
  }

 private:
  void add(const Extent& from, std::size_t begin) const {
    for (std::size_t i = 0; i < from.count; ++i) {
      const float both = kernels::load<float>(sum->data, begin + i) + kernels::load<float>(from.data, i);
      kernels::store(sum->data, begin + i, both);
    }
  }
};

void build(GraphBuilder& g) {
  const Rank me = g.position(), other = me + 1;
  const Value first_out = g.paired(me, other), last_out = g.paired(me, other);
  const Value first_in = g.paired(other, me), last_in = g.paired(other, me);
  const Value last_out_begin = g.value(), last_in_begin = g.value();
  g.kernel(TellLengths{.first_out = first_out,
                       .last_out = last_out,
                       .first_in = first_in,
                       .last_in = last_in,
                       .last_out_begin = last_out_begin,
                       .last_in_begin = last_in_begin});
  const Region arrived = g.buffer({});
  const auto places =
      g.disjoint({GraphBuilder::counted(arrived, first_in), GraphBuilder::counted(arrived, last_in, last_in_begin)});
  g.copy(g.output(), g.input());
  g.send(GraphBuilder::counted(g.input(), first_out), other);
  g.send(GraphBuilder::counted(g.input(), last_out, last_out_begin), other);
  for (const Region& place : places) g.receive(place, other);
  g.kernel(AddBoth{.first = places[0], .last = places[1], .sum = g.output()});
}

void plan(const PlanRequest& request, Plan& plan) {
  plan.parts.push_back({.data = {0, request.call.count}, .outcome = 1, .lossy = true});
}

constexpr std::string_view outcomes[] = {"dense", "paired"};
constexpr MethodAlgorithm algorithms[] = {{&paired_sum_algorithm, "paired_sum", "a test's"}};
const Method method = {
    .name = "paired_sum",
    .summary = "a test's",
    .outcomes = outcomes,
    .algorithms = algorithms,
    .make = option::make<PairedSum>,
    .is_on = [](const void*) { return true; },
    .plan = plan,
};

}  // namespace

extern const Algorithm paired_sum_algorithm = {.collective = Collective::Allreduce,
                                               .name = "paired_sum",
                                               .summary = "a test's",
                                               .symmetric = true,
                                               .build = build};

MethodOptions paired_sum(const PairedSum& lengths) { return {method, std::make_shared<const PairedSum>(lengths)}; }

}  // namespace lacuna::test
