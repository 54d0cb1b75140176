#include <gtest/gtest.h>

#include <array>

#include "runtime/engine/memory_pools.hpp"
#include "runtime/engine/run.hpp"
#include "runtime/graph/builder.hpp"

namespace lacuna {
namespace {

/// A region of so many pieces of the data.
struct Range {
  Rank begin, end, of;
};

/// A part of an allreduce whose program uses one scratch block for some regions. Its memory does not exist.
struct Part {
  Part(std::span<const Range> ranges, Rank size, std::size_t count) {
    GraphBuilder g({.collective = Collective::Allreduce, .size = size, .position = 0}, false);
    for (const Range& range : ranges) {
      regions.push_back(g.scratch(0, g.output(range.begin, range.end, range.of)));
      g.receive(regions.back(), 1);
    }
    EXPECT_TRUE(g.status()) << g.status().to_string();
    run.call.collective = Collective::Allreduce;
    run.call.count = count;
    run.call.dtype = Dtype::F32;
    part.run = &run;
    part.order = {size, 0};
    part.graph = std::make_shared<const Graph>(std::move(g).build());
    part.followed.data = {0, count};
    part.plan = &part.followed;
    runtime::cut(part);
    runtime::lay_out(part, memory);
  }
  ~Part() { runtime::give_back_memory(part, memory); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  std::vector<Region> regions;
  runtime::MemoryPools memory;
  runtime::CollectiveRun run;
  runtime::ActivePart part;
};

TEST(ScratchRoom, HoldsEachRangeThatTheBlockStandsForWhateverItIsCutInto) {
  const std::array<std::array<Range, 2>, 8> programs = {{
      {{{0, 1, 4}, {1, 2, 2}}},
      {{{1, 2, 2}, {3, 4, 4}}},
      {{{0, 1, 2}, {0, 3, 5}}},
      {{{0, 3, 5}, {0, 1, 2}}},
      {{{2, 3, 3}, {4, 5, 5}}},
      {{{0, 15, 16}, {3, 4, 4}}},
      {{{0, 1, 1}, {0, 1, 7}}},
      {{{6, 7, 7}, {2, 6, 7}}},
  }};
  for (const auto& ranges : programs) {
    for (Rank size : {2, 4, 7, 16}) {
      for (std::size_t count : {0u, 1u, 2u, 5u, 15u, 16u, 17u, 1000u}) {
        const Part with(ranges, size, count);
        for (const Region& region : with.regions) {
          const std::size_t needed = runtime::resolve(with.part, region).count;
          EXPECT_LE(needed, with.part.buffer(region).room)
              << "[" << region.begin << ", " << region.end << ") of " << region.of << ", " << count << " elements, "
              << size << " ranks";
        }
      }
    }
  }
}

TEST(ScratchRoom, IsNotThatOfAllDataWhereOnlyPiecesAreNeeded) {
  const std::array<Range, 1> quarter = {{{1, 2, 4}}};
  const Part with(quarter, 2, 1 << 20);
  EXPECT_LE(with.part.buffer(with.regions[0]).room, (std::size_t{1} << 18) + 2);
}

}  // namespace
}  // namespace lacuna
