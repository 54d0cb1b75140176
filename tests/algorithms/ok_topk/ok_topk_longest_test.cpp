#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "kernels/backend.hpp"
#include "runtime/graph/graphs.hpp"
#include "runtime/method/method.hpp"

/// How ok_topk cuts the longest arrays.
namespace lacuna::test {
namespace {

/// Runs the kernel of this name in a graph of one position. Its first port reads this memory; the others read nothing.
Status run_kernel(const Graph& graph, const PartView& view, std::string_view name, const Extent& read,
                  const Extent& written) {
  for (const KernelStep& step : graph.tables().kernels) {
    if (step.kernel->name != name) continue;
    MeasureValues measures;
    std::vector<Extent> reads(step.reads.size());
    reads.front() = read;
    return step.kernel->run(step.ports.get(), {.reads = reads, .writes = {&written, 1}, .uses = {}, .defines = {}},
                            {.part = view, .backend = kernels::best_backend(), .measures = measures});
  }
  return {Code::Internal, fmt::format("no kernel {}", name)};
}

/// Runs the kernels that lay ranges on counts of data for which no test has memory, and compares with a definition in
/// wider numbers.
TEST(OkOptions, RangesOfTheLongestArraysCoverThemInOrderAndHoldAsMuch) {
  constexpr std::size_t count = 4294967295, bins = 2048;
  MethodState state;
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.algorithm = "ok_topk";
  call.options.method = *method_options("ok_topk:density=0.01");
  call.options.state = &state;
  for (Rank size : {1, 3, 7, 64, 150}) {
    const Algorithm& program = **select_algorithm(call, size);
    Plan plan;
    make_plan({call, program, Hosts(size), 1 << 18}, plan);
    const PartPlan& part = plan.parts.front();
    const Graphs graphs = *graphs_of(program, size, {.structure = part.structure});
    const PartView view{.call = call, .plan = plan, .part = part, .size = size, .position = 0, .count = count};
    std::vector<std::int64_t> counts(2 * bins), ends(2 * bins);  // entries are spread evenly within a bin
    std::mt19937_64 random(3);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      counts[bin] = static_cast<std::int64_t>(random() % (random() % 8 ? 1000 : 1000000) / 2) * size;
    }
    std::vector<std::int64_t> table(3 * static_cast<std::size_t>(size));
    const auto extent = [](std::vector<std::int64_t>& words) {
      return Extent{reinterpret_cast<std::byte*>(words.data()), words.size(), Dtype::I64};
    };
    const Extent histogram = extent(counts), partition = extent(ends), ranges = extent(table);
    const Status parted = run_kernel(graphs.at(0), view, "partition by load", histogram, partition);
    ASSERT_TRUE(parted) << parted.to_string();
    const Status laid = run_kernel(graphs.at(0), view, "lay ranges", partition, ranges);
    ASSERT_TRUE(laid) << laid.to_string();
    const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t* range = &table[static_cast<std::size_t>(3 * i)];
      ASSERT_EQ(range[0], end);
      ASSERT_GE(range[1], range[0]);
      ASSERT_EQ(range[2], i);
      end = range[1];
      const std::int64_t wanted = (i + 1) * all / size;  // entries before its end, spread evenly in their bin
      const std::int64_t bin =
          std::min<std::int64_t>(end * static_cast<std::int64_t>(bins) / static_cast<std::int64_t>(count), bins - 1);
      std::int64_t passed = 0;
      for (std::int64_t b = 0; b < bin; ++b) passed += counts[static_cast<std::size_t>(b)];
      EXPECT_LE(passed - 1, wanted) << "P=" << size << " range " << i;
      EXPECT_GE(passed + counts[static_cast<std::size_t>(bin)] + 1, wanted) << "P=" << size << " range " << i;
    }
    EXPECT_EQ(end, static_cast<std::int64_t>(count));
  }
}

}  // namespace
}  // namespace lacuna::test
