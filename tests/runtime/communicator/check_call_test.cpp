#include "runtime/communicator/check_call.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace lacuna::runtime {
namespace {

using Sizes = std::vector<std::size_t>;

constexpr std::uintptr_t here = 0x10'0000'0000;

/// These addresses are only compared. There is no memory at them.
void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// An alltoallv in one buffer, whose tables are given.
struct InOneBuffer {
  InOneBuffer(Sizes input_offsets, Sizes output_offsets, Sizes lengths = {2, 0, 3})
      : counts(std::move(lengths)), inputs(std::move(input_offsets)), outputs(std::move(output_offsets)) {
    call.collective = Collective::Alltoallv;
    call.input = call.output = at(here);
    call.input_blocks = {.counts = counts, .offsets = inputs};
    call.output_blocks = {.counts = counts, .offsets = outputs};
  }

  Sizes counts, inputs, outputs;
  Call call;
};

TEST(InPlaceCall, EmptyBlocksMayLieElsewhere) {
  for (const Sizes& other : {Sizes{0, 2, 2}, Sizes{0, 0, 2}, Sizes{0, 9, 2}}) {
    InOneBuffer given({0, 5, 2}, other);
    EXPECT_TRUE(is_in_place(given.call, 0));
    EXPECT_EQ(check_call(given.call, 0, 3).to_string(), "ok");
  }
  InOneBuffer without({0, 7, 2}, {});
  EXPECT_TRUE(is_in_place(without.call, 0));
  InOneBuffer last({0, 2, 99}, {0, 2, 1}, {2, 3, 0});
  EXPECT_TRUE(is_in_place(last.call, 0));
}

TEST(InPlaceCall, BlocksWithElementsMayNot) {
  InOneBuffer given({0, 2, 2}, {0, 2, 3});
  EXPECT_FALSE(is_in_place(given.call, 0));
  EXPECT_NE(check_call(given.call, 0, 3).message().find("overlap"), std::string::npos);
}

Call allreduce(std::size_t count, Dtype dtype, void* output) {
  Call call;
  call.collective = Collective::Allreduce;
  call.input = at(here);
  call.output = output;
  call.count = count;
  call.dtype = dtype;
  return call;
}

TEST(CheckCall, BuffersMayTouchAndShareNoByteUnlessTheyAreTheSame) {
  const std::size_t count = 100, bytes = 400;
  EXPECT_TRUE(check_call(allreduce(count, Dtype::F32, at(here + bytes)), 0, 4));
  EXPECT_TRUE(check_call(allreduce(count, Dtype::F32, at(here - bytes)), 0, 4));
  EXPECT_TRUE(check_call(allreduce(count, Dtype::F32, at(here)), 0, 4));
  for (std::uintptr_t output : {here + bytes - 1, here - bytes + 1, here + 1, here - 1}) {
    EXPECT_FALSE(check_call(allreduce(count, Dtype::F32, at(output)), 0, 4)) << output - here;
  }
}

TEST(CheckCall, BuffersThatOverlapAreRefusedHoweverLongTheyAre) {
  const std::size_t most = PTRDIFF_MAX / 4;
  for (std::uintptr_t output : {here + 4, here - 4}) {
    EXPECT_NE(check_call(allreduce(most, Dtype::F32, at(output)), 0, 1).message().find("overlap"), std::string::npos);
  }
}

TEST(CheckCall, AsManyElementsAreAllowedAsMemoryCanHoldOfAllRanks) {
  for (Rank size : {1, 2, 3, 7}) {
    for (Dtype dtype : {Dtype::F16, Dtype::F32, Dtype::F64}) {
      const std::size_t most = PTRDIFF_MAX / size_of(dtype) / static_cast<std::size_t>(size);
      EXPECT_TRUE(check_call(allreduce(most, dtype, at(here)), 0, size));
      for (std::size_t more : {most + 1, most + most / 2, std::numeric_limits<std::size_t>::max()}) {
        const Status status = check_call(allreduce(more, dtype, at(here)), 0, size);
        EXPECT_EQ(status.code(), Code::InvalidArgument);
        EXPECT_NE(status.message().find("at most " + std::to_string(most)), std::string::npos) << status.to_string();
      }
    }
  }
}

TEST(CheckCall, ABufferThatIsNullIsNamedWithItsOwnLength) {
  const auto refusal = [](void* input, void* output) {
    Call call = allreduce(3, Dtype::F32, output);
    call.collective = Collective::Allgather;
    call.input = input;
    return check_call(call, 0, 4).to_string();
  };
  EXPECT_EQ(refusal(nullptr, at(here)), "invalid argument: allgather of 3 elements: the input is null");
  EXPECT_EQ(refusal(at(here), nullptr), "invalid argument: allgather of 12 elements: the output is null");
}

TEST(CheckCall, ARootIsARankOfTheCommunicator) {
  Call call = allreduce(1, Dtype::F32, at(here));
  call.collective = Collective::Broadcast;
  for (Rank root : {-1, 0, 2, 3}) {
    call.root = root;
    EXPECT_EQ(check_call(call, 0, 3).is_ok(), root == 0 || root == 2) << root;
  }
}

}  // namespace
}  // namespace lacuna::runtime
