#include "runtime/method/method.hpp"

#include "algorithms/frugal/frugal.hpp"
#include "algorithms/phases/ring_phases.hpp"
#include "kernels/elements.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

/// Converts to the nearest elements of the other type. What it reads and writes lies in the host's memory.
struct Convert {
  static constexpr std::string_view name = "convert";
  Read from;
  Write to;

  Status operator()(const KernelCall&) const {
    kernels::with_floating_element(from->dtype, [&]<class From>(kernels::Element<From>) {
      kernels::with_floating_element(to->dtype, [&]<class To>(kernels::Element<To>) {
        using Wide = kernels::WideOf<To>;
        for (std::size_t i = 0; i < to->count; ++i) {
          const auto value = kernels::widen(kernels::load<From>(from->data, i));
          kernels::store(to->data, i, kernels::narrow<To>(static_cast<Wide>(value)));
        }
      });
    });
    return {};
  }
};

/// Builds a ring over a copy of the data in f16, in the host's memory.
void build(GraphBuilder& g) {
  const Region input = g.input(), output = g.output(), whole = g.buffer({.memory = MemoryKind::Host}),
               halves = g.buffer({.element = Dtype::F16, .memory = MemoryKind::Host});
  g.copy(whole, input);
  g.kernel(Convert{.from = whole, .to = halves});
  g.replace(Buffer::Input, halves.buffer);
  g.replace(Buffer::Output, halves.buffer);
  ring_allreduce(g);
  g.kernel(Convert{.from = halves, .to = whole});
  g.copy(output, whole);
}

constexpr Algorithm frugal_ring = {
    .collective = Collective::Allreduce,
    .name = "frugal_ring",
    .summary = "the ring, whose messages are of f16",
    .symmetric = true,
    .build = build,
};

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, help) \
  option::of<&Frugal::name>(#name, {least, most}, nullptr, help),
#include "algorithms/frugal/options.def"
#undef LACUNA_OPTION
};
constexpr Measure halved = {
    .name = "halved", .help = "calls whose messages were of f16", .by = CountedBy::Plan, .role = MeasureRole::Headline};
constexpr const Measure* measures[] = {&halved};
constexpr std::string_view outcomes[] = {"dense", "halved"};
constexpr MethodAlgorithm algorithms[] = {{&frugal_ring, "frugal_ring", "messages of f16", &allreduce_ring}};
constexpr std::string_view examples[] = {"halves=1"};

Status check(const Call& call, const Algorithm&, const Hosts&) {
  if (call.reduction != Reduction::Sum) return {Code::InvalidArgument, "frugal: only sums"};
  if (is_integer(call.dtype)) return {Code::InvalidArgument, "frugal: no integers"};
  return {};
}

void plan(const PlanRequest& request, Plan& plan) {
  PartPlan part{.data = {0, request.call.count}};
  part.lossy = true;
  part.outcome = 1;
  plan.reports = true;
  plan.measures.tell(halved, 1);
  add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

}  // namespace

extern const Method frugal_method = {
    .name = "frugal",
    .summary = "sends elements of half the size",
    .options = options,
    .measures = measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Frugal>,
    .is_on = [](const void* given) { return static_cast<const Frugal*>(given)->halves; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "frugal_ring"; },
    .check = check,
    .plan = plan,
};

}  // namespace lacuna
