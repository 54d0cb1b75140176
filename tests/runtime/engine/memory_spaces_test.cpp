#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "tests/support/calls.hpp"
#include "tests/support/counted_memory.hpp"

namespace lacuna::test {
namespace {

using Floats = std::vector<float>;

std::function<void(const Extent&)> visit_extent;

/// Carries out computations at once, and visits what each of them reads and writes.
class VisitedCompute final : public runtime::Compute {
 public:
  bool takes(std::size_t) const override { return true; }
  Started start(runtime::Work& work) override {
    if (work.kernel) {
      std::for_each(work.reads.begin(), work.reads.end(), visit_extent);
      std::for_each(work.writes.begin(), work.writes.end(), visit_extent);
    } else {
      for (const Extent& extent : {work.computation.from, work.computation.local, work.computation.to}) {
        visit_extent(extent);
      }
    }
    carry_out(work);
    return Started::Done;
  }
  runtime::Work* ended() override { return nullptr; }
  bool wants_turn() const override { return false; }
  bool advance() override { return false; }
};

struct Shape {
  const char* name;
  const char* algorithm;
  const char* method;
  std::size_t eager_bytes;  ///< longer messages go as descriptors
};

/// Two ranks that make equal calls.
class MemorySpaces : public testing::TestWithParam<Shape> {
 protected:
  MemorySpaces() {
    RanksOptions options{.network = {.seed = 3, .reads_in_place = false, .eager_limit = 256},
                         .executor = quick_executor()};
    options.executor.memory = spaces_;
    options.executor.compute = []() -> std::unique_ptr<runtime::Compute> { return std::make_unique<VisitedCompute>(); };
    options.executor.eager_bytes = GetParam().eager_bytes;
    ranks_ = std::make_unique<Ranks>(2, options);
    visit_extent = [this](const Extent& extent) { visit(extent); };
  }
  ~MemorySpaces() override { visit_extent = nullptr; }

  void visit(const Extent& extent) {
    if (extent.bytes() == 0) return;
    EXPECT_EQ(extent.memory, MemoryKind::Host);
    if (memory_.holds(extent.data, extent.bytes())) {
      ++own_;
      return;
    }
    const auto lies_in = [&](const Floats& buffer) {
      const auto* const begin = reinterpret_cast<const std::byte*>(buffer.data());
      return extent.data >= begin && extent.data + extent.bytes() <= begin + buffer.size() * sizeof(float);
    };
    EXPECT_TRUE(std::any_of(inputs_.begin(), inputs_.end(), lies_in) ||
                std::any_of(outputs_.begin(), outputs_.end(), lies_in));
  }
  void run_calls() {
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      Call& call = calls.emplace_back(allreduce_call(inputs_[rank], outputs_[rank], GetParam().algorithm));
      call.options.state = &states_[rank];
      if (*GetParam().method != 0) call.options.method = *method_options(GetParam().method);
    }
    for (const Status& end : ranks_->run(calls)) EXPECT_TRUE(end) << end.to_string();
  }

  CountedMemory memory_;
  const std::array<MemorySpace*, 1> spaces_ = {&memory_};
  std::array<MethodState, 2> states_;
  std::unique_ptr<Ranks> ranks_;
  std::array<Floats, 2> inputs_ = {Floats(500, 1), Floats(500, 2)}, outputs_ = {Floats(500), Floats(500)};
  std::size_t own_ = 0;  ///< extents that do not lie in a buffer of the caller's
};

TEST_P(MemorySpaces, HoldAllDataBesideTheBuffersOfTheCaller) {
  for (int call = 0; call < 3; ++call) run_calls();
  EXPECT_GT(own_, 0u);
  EXPECT_EQ(memory_.strange(), 0u);
  ranks_.reset();
  states_ = {};
  EXPECT_EQ(memory_.in_use(), 0u);
  EXPECT_EQ(memory_.strange(), 0u);
}

TEST_P(MemorySpaces, RepeatedCallsUseTheMemoryAgain) {
  constexpr std::size_t calls = 40, drawn = 10;  // the network draws how many messages wait at a time
  for (std::size_t call = 0; call < calls; ++call) run_calls();
  const std::size_t before = memory_.taken();
  for (std::size_t call = 0; call < calls; ++call) run_calls();
  EXPECT_LE(memory_.taken(), before + drawn);
}

INSTANTIATE_TEST_SUITE_P(, MemorySpaces,
                         testing::Values(Shape{"EagerRing", "ring", "", 1 << 20}, Shape{"FetchedRing", "ring", "", 0},
                                         Shape{"Feedback", "ring", "skip:steps=1,feedback=true", 0},
                                         Shape{"Packed", "ring", "skip:steps=1,audit=1", 1 << 20},
                                         Shape{"Topk", "sparse_split", "topk:k=20", 1 << 20},
                                         Shape{"OkTopk", "ok_topk", "ok_topk:k=20,tau_prime=1", 0},
                                         Shape{"Sketch", "count_sketch", "sketch:columns=9", 0}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace lacuna::test
