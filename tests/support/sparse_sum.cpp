#include "tests/support/sparse_sum.hpp"

#include <algorithm>
#include <memory>

#include "kernels/elements.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/region.hpp"

namespace lacuna::test {
namespace {

std::int64_t number(const Extent& extent, std::size_t i) { return kernels::load<std::int64_t>(extent.data, i); }
void put(const Extent& extent, std::size_t i, std::int64_t value) { kernels::store(extent.data, i, value); }

std::size_t two_for_each(const PartView& part) { return 2 * part.count; }
constexpr BufferInfo numbers = {.memory = MemoryKind::Host};  // cut as the data are
constexpr BufferInfo pairs = {.element = Dtype::I64, .capacity = two_for_each, .memory = MemoryKind::Host};

constexpr Measure selected = {.name = "selected", .help = "elements that a rank has selected"};
constexpr Measure selections = {.name = "selections", .help = "times that a rank has selected"};

/// What is not zero, each with its place before it.
struct Select {
  static constexpr std::string_view name = "select";
  Read from;
  Write to;
  Define taken;

  Status operator()(const KernelCall& call) const {
    for (std::size_t i = 0; i < from->count; ++i) {
      if (number(*from, i) == 0) continue;
      put(*to, (*taken)++, static_cast<std::int64_t>(i));
      put(*to, (*taken)++, number(*from, i));
    }
    call.measures.tell(selected, static_cast<double>(*taken / 2));
    call.measures.tell(selections, 1);
    return {};
  }
};

struct Add {
  static constexpr std::string_view name = "add";
  Reads all;
  Write to;
  Define pairs;

  Status operator()(const KernelCall&) const {
    for (std::size_t i = 0; i < to->count; ++i) put(*to, i, 0);
    for (const Extent& from : all) {
      for (std::size_t i = 0; i < from.count; i += 2, ++*pairs) {
        const auto place = static_cast<std::size_t>(number(from, i));
        if (place >= to->count) return {Code::Mismatch, "a place beyond the data"};
        put(*to, place, number(*to, place) + number(from, i + 1));
      }
    }
    return {};
  }
};

/// How many are not zero.
struct Count {
  static constexpr std::string_view name = "count";
  Read from;
  Define numbers;

  Status operator()(const KernelCall&) const {
    for (std::size_t i = 0; i < from->count; ++i) *numbers += number(*from, i) != 0;
    return {};
  }
};

void exchange(GraphBuilder& g) {
  const Value kept = g.value(), came = g.agreed();
  const Region data = g.buffer(numbers), room = g.buffer(pairs), mine = GraphBuilder::counted(room, kept);
  g.copy(data, g.input());
  g.kernel(Select{.from = data, .to = room, .taken = kept});
  std::vector<Region> all = {mine};
  for (Rank r = 1; r < g.size(); ++r) {
    g.send(mine, g.position() + r);
    all.push_back(g.receive_landed(g.position() - r, pairs));
  }
  g.kernel(Add{.all = all, .to = data, .pairs = came});
  g.copy(g.output(), data);
  g.decide({came});
}

void once_more(GraphBuilder& g) {
  const Value length = g.agreed();
  const Region data = g.buffer(numbers);
  g.copy(data, g.output());
  g.kernel(Count{.from = data, .numbers = length});
  const Region first = GraphBuilder::counted(g.output(), length);
  if (g.size() == 1) return static_cast<void>(g.reduce(first, first));
  const Region got = GraphBuilder::counted(g.buffer({}), length);
  g.send(first, g.position() + 1);
  g.receive(got, g.position() - 1);
  g.reduce(first, got);
}

std::optional<PartPlan> follow(const Followed& part) {
  const auto& asked = part.request.call.options.method.as<SparseSum>();
  if (part.length > 1 || asked.stays || static_cast<std::int64_t>(part.values[0]) <= asked.most) return {};
  PartPlan next = part.part;
  next.structure.parameters = SparseSumForm{.second = true};
  return next;
}

constexpr const Measure* measures[] = {&selected, &selections};
constexpr std::string_view outcomes[] = {"dense", "sparse"};
extern const MethodAlgorithm algorithms[] = {{&sparse_sum, "sparse_sum", "a test's"}};

}  // namespace

extern const Algorithm sparse_sum = {
    .collective = Collective::Allreduce,
    .name = "sparse_sum",
    .summary = "a test's",
    .symmetric = true,
    .build = [](GraphBuilder& g) { g.parameters<SparseSumForm>().second ? once_more(g) : exchange(g); },
    .parameters = &parameter_set<SparseSumForm>,
};

extern const Method sparse_sum_method = {
    .name = "sparse_sum",
    .summary = "a test's",
    .measures = measures,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .make = option::make<SparseSum>,
    .is_on = [](const void*) { return true; },
    .plan =
        [](const PlanRequest& request, Plan& plan) {
          plan.reports = true;
          add_parts(request.call, {.data = {0, request.call.count}, .outcome = 1, .lossy = true}, request.hosts.size(),
                    request.chunk_bytes, plan);
        },
    .follow = follow,
};

MethodOptions sparse_sum_options(const SparseSum& options) {
  return {sparse_sum_method, std::make_shared<const SparseSum>(options)};
}

std::vector<std::int64_t> sparse_sum_of(const std::vector<std::vector<std::int64_t>>& inputs, std::int64_t most,
                                        std::size_t parts) {
  const std::size_t count = inputs.front().size();
  std::vector<std::int64_t> sum(count, 0);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = boundary(part, count, parts), end = boundary(part + 1, count, parts);
    std::int64_t came = 0, present = 0;
    for (std::size_t i = begin; i < end; ++i) {
      for (const auto& input : inputs) {
        sum[i] += input[i];
        came += input[i] != 0;
      }
      present += sum[i] != 0;
    }
    if (came <= most) continue;
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(present); ++i) sum[i] *= 2;
  }
  return sum;
}

}  // namespace lacuna::test
