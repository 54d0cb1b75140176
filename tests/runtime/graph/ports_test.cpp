#include <gtest/gtest.h>

#include <array>

#include "kernels/backend.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna::test {
namespace {

constexpr Region region(std::uint32_t i) {
  return {.buffer = Buffer{static_cast<std::uint16_t>(i)}, .of = 1, .end = 1};
}

/// A group of ports that several kernels may have.
struct List {
  Read places, values;
  Use count;
};

std::vector<std::string> said;

/// A kernel with every kind of port, some of them in groups, and with numbers between them.
struct All {
  static constexpr std::string_view name = "all";
  Write to;
  Rank number;
  List list;
  Reads several;
  Read none{};
  std::array<double, 2> numbers{};
  Define told;
  Use asked;
  Writes rooms;
  Defines lengths;
  bool flag;

  Status operator()(const KernelCall&) const {
    const auto say = [](auto... one) { (said.push_back(std::to_string(one)), ...); };
    say(to->count, list.places->count, list.values->count, *list.count, several[0].count, several[1].count);
    say(*asked, rooms.front().count, number, numbers[1], flag, static_cast<bool>(none), rooms.size());
    *told = 30;
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = 31 + i;
    return {Code::Mismatch, "it has run"};
  }
};

All example() {
  return {.to = region(20),
          .number = 7,
          .list = {.places = region(10), .values = region(11), .count = Value{40}},
          .several = std::vector{region(12), region(13)},
          .numbers = {1, 2},
          .told = Value{50},
          .asked = Value{41},
          .rooms = std::vector{region(21)},
          .lengths = std::vector{Value{51}, Value{52}},
          .flag = true};
}

TEST(Ports, AreTheRowOfAStepInTheOrderOfTheMembersOfTheKernel) {
  const KernelStep step = kernel_step(example());
  EXPECT_EQ(step.kernel->name, "all");
  EXPECT_EQ(step.reads, (std::vector{region(10), region(11), region(12), region(13)}));
  EXPECT_EQ(step.writes, (std::vector{region(20), region(21)}));
  EXPECT_EQ(step.uses, (std::vector{Value{40}, Value{41}}));
  EXPECT_EQ(step.defines, (std::vector{Value{50}, Value{51}, Value{52}}));
}

TEST(Ports, OfAKernelThatRunsReferToItsOperandsAndItsNumbersAreThoseOfTheProgram) {
  const KernelStep step = kernel_step(example());
  const auto extents = [](std::size_t first, std::size_t count) {
    std::vector<Extent> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back({nullptr, first + i, Dtype::U8});
    return all;
  };
  const Call call;
  const Plan plan;
  const PartPlan part_plan;
  const PartView part{.call = call, .plan = plan, .part = part_plan};
  MeasureValues measures;
  for (std::size_t first : {100u, 500u}) {  // a graph runs many times
    said.clear();
    const auto reads = extents(first, 4), writes = extents(first + 10, 2);
    const std::vector<std::uint64_t> uses{first + 20, first + 21};
    std::vector<std::uint64_t> defines(3);
    const Status status =
        step.kernel->run(step.ports.get(), {reads, writes, uses, defines}, {part, kernels::best_backend(), measures});
    EXPECT_EQ(status.message(), "it has run");
    const auto at = [&](std::size_t i) { return std::to_string(first + i); };
    EXPECT_EQ(said, (std::vector<std::string>{at(10), at(0), at(1), at(20), at(2), at(3), at(21), at(11), "7",
                                              "2.000000", "1", "0", "1"}));
    EXPECT_EQ(defines, (std::vector<std::uint64_t>{30, 31, 32}));
  }
}

TEST(Ports, ThatAreEmptyDeclareNothing) {
  GraphBuilder g({.size = 2}, false);
  All kernel = example();
  kernel.to = g.output();
  kernel.list = {.places = Region(), .values = GraphBuilder::signal(), .count = Value::None};
  kernel.several = {};
  kernel.told = Value::None;
  kernel.asked = Value::None;
  kernel.rooms = {};
  kernel.lengths = {};
  g.kernel(kernel);
  ASSERT_TRUE(g.status()) << g.status().to_string();
  const Graph graph = std::move(g).build();
  const KernelStep& row = graph.tables().kernels.front();
  EXPECT_EQ(row.reads.size() + row.uses.size() + row.defines.size(), 0u);
  EXPECT_EQ(row.writes, (std::vector{Region{Buffer::Output, false, 0, 1, 0, 1}}));
}

struct Other {
  static constexpr std::string_view name = "all";
  Write to;

  Status operator()(const KernelCall&) const { return {}; }
};

TEST(Ports, KernelsOfOneStructAreOneKernelAndThoseOfAnotherAreNot) {
  EXPECT_EQ(kernel_step(example()).kernel, kernel_step(example()).kernel);
  EXPECT_NE(kernel_step(example()).kernel, kernel_step(Other{region(1)}).kernel);
}

struct None {};
struct One {
  List list;
};
struct Twelve {
  int a, b, c, d, e, f, g, h, i, j, k;
  List l;
};
static_assert(members::count<None>() == 0);
static_assert(members::count<One>() == 1);
static_assert(members::count<List>() == 3);
static_assert(members::count<All>() == 11);
static_assert(members::count<Twelve>() == 12);

}  // namespace
}  // namespace lacuna::test
