#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/backend.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/guarded_compute.hpp"
#include "tests/support/ranks.hpp"

// guarded_compute() finds steps that touch what they do not declare, or data that only a backend may touch.
namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int64_t>;

enum class Fault {
  None,
  ReadsTheCallersInput,
  WritesTheCallersOutput,
  ReadsBeyond,
  ReadsBefore,
  WritesWhatItReads,
  ReadsData,
  WritesData,
  ReadsScratchOfTheData,
  WritesATableThatItReads,
  HandsATableToTheBackend,
};

void touch(const void* at) { static_cast<void>(*static_cast<const volatile char*>(at)); }

void copy_by(const kernels::Backend& backend, const Extent& to, const Extent& from) {
  backend.copy({}, {to.dtype, to.data, to.count}, from.data);
}

/// Writes a table in the host's memory, and copies its input to scratch.
struct Prepare {
  static constexpr std::string_view name = "prepare";
  Read from;
  Write scratch, table;

  Status operator()(const KernelCall& call) const {
    copy_by(call.backend, *scratch, *from);
    std::memset(table->data, 3, table->bytes());
    return {};
  }
};

/// A copy that also reads a table. It can do more than it declares too.
struct Meddle {
  static constexpr std::string_view name = "meddle";
  Read from, scratch, table;
  Write to;
  Fault fault;

  Status operator()(const KernelCall& call) const {
    copy_by(call.backend, *to, *from);
    if (std::to_integer<int>(table->data[0]) != 3) return {Code::Internal, "another table"};
    if (fault == Fault::ReadsTheCallersInput) touch(call.part.call.input);
    if (fault == Fault::WritesTheCallersOutput) std::memset(call.part.call.output, 0, 1);
    if (fault == Fault::ReadsBeyond) touch(table->data + table->bytes() + 64);
    if (fault == Fault::ReadsBefore) touch(table->data - ::sysconf(_SC_PAGESIZE));  // it lies in one page
    if (fault == Fault::WritesWhatItReads) copy_by(call.backend, *from, *to);
    if (fault == Fault::ReadsData) touch(from->data);
    if (fault == Fault::WritesData) std::memset(to->data, 0, 1);
    if (fault == Fault::ReadsScratchOfTheData) touch(scratch->data);
    if (fault == Fault::WritesATableThatItReads) std::memset(table->data, 0, 1);
    if (fault == Fault::HandsATableToTheBackend) copy_by(call.backend, *to, *table);
    return {};
  }
};

Fault planted = Fault::None;

const Algorithm meddling = {
    .collective = Collective::Allreduce,
    .name = "meddling",
    .summary = "a test's",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Region scratch = g.buffer({}), table = g.buffer({.memory = MemoryKind::Host});
          g.kernel(Prepare{.from = g.input(), .scratch = scratch, .table = table});
          g.kernel(Meddle{.from = g.input(), .scratch = scratch, .table = table, .to = g.output(), .fault = planted});
        },
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

void expect_ends(std::initializer_list<Fault> faults) {
  for (Fault fault : faults) {
    EXPECT_DEATH(static_cast<void>(run_with(fault)), "this step has touched memory that it may not: meddle")
        << static_cast<int>(fault);
  }
}

TEST(DeclaredMemoryDeathTest, AStepThatTouchesAnythingElseEndsTheProcessWithItsName) {
  expect_ends({Fault::ReadsTheCallersInput, Fault::WritesTheCallersOutput, Fault::ReadsBeyond, Fault::ReadsBefore,
               Fault::WritesWhatItReads, Fault::WritesATableThatItReads});
}

TEST(DeclaredMemoryDeathTest, AKernelThatTouchesDataItselfEndsTheProcessWithItsName) {
  expect_ends({Fault::ReadsData, Fault::WritesData, Fault::ReadsScratchOfTheData});
}

TEST(DeclaredMemoryDeathTest, AControlTableThatABackendGetsAsDataEndsTheProcessWithTheStepsName) {
  expect_ends({Fault::HandsATableToTheBackend});
}

}  // namespace
}  // namespace lacuna::test
