#include <gtest/gtest.h>

#include "tests/support/calls.hpp"
#include "tests/support/guarded_compute.hpp"
#include "tests/support/ranks.hpp"

// guarded_compute() finds steps that touch what they do not declare.
namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int64_t>;

enum class Fault { None, ReadsTheCallersInput, WritesTheCallersOutput, ReadsBeyond, ReadsBefore, WritesWhatItReads };

/// A copy that can also do more than it declares.
struct Meddle {
  static constexpr std::string_view name = "meddle";
  Read from;
  Write to;
  Fault fault;

  Status operator()(const KernelCall& call) const {
    std::memcpy(to->data, from->data, from->bytes());
    const auto touch = [](const void* at) { static_cast<void>(*static_cast<const volatile char*>(at)); };
    if (fault == Fault::ReadsTheCallersInput) touch(call.part.call.input);
    if (fault == Fault::WritesTheCallersOutput) std::memset(call.part.call.output, 0, 1);
    if (fault == Fault::ReadsBeyond) touch(from->data + from->bytes() + 64);
    if (fault == Fault::ReadsBefore) touch(from->data - 8192);
    if (fault == Fault::WritesWhatItReads) std::memset(from->data, 0, 1);
    return {};
  }
};

Fault planted = Fault::None;

const Algorithm meddling = {
    .collective = Collective::Allreduce,
    .name = "meddling",
    .summary = "a test's",
    .symmetric = true,
    .build = [](GraphBuilder& g) { g.kernel(Meddle{.from = g.input(), .to = g.output(), .fault = planted}); },
};

/// Returns the first element of the result.
std::int64_t run_with(Fault fault) {
  planted = fault;
  RanksOptions options{.executor = quick_executor()};
  options.executor.compute = guarded_compute;
  Ranks ranks(1, options);
  const Numbers input(100, 7);
  Numbers output(100);
  Call call{.collective = Collective::Allreduce, .input = input.data(), .output = output.data(), .count = 100};
  call.dtype = Dtype::I64;
  EXPECT_TRUE(ranks.communicator(0).wait(**ranks.communicator(0).post(call, meddling), std::chrono::seconds(9)));
  return output.front();
}

TEST(DeclaredMemory, AStepThatTouchesItOnlyRunsAsEver) { EXPECT_EQ(run_with(Fault::None), 7); }

TEST(DeclaredMemoryDeathTest, AStepThatTouchesAnythingElseEndsTheProcess) {
  for (Fault fault : {Fault::ReadsTheCallersInput, Fault::WritesTheCallersOutput, Fault::ReadsBeyond,
                      Fault::ReadsBefore, Fault::WritesWhatItReads}) {
    EXPECT_DEATH(static_cast<void>(run_with(fault)), "") << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace lacuna::test
