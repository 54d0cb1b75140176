#include <gtest/gtest.h>

#include <array>
#include <list>
#include <numeric>
#include <type_traits>

#include "algorithms/topk/topk.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Floats = std::vector<float>;
using Out = std::span<float>;

/// A call gives the same if it is called, started and prepared. A prepared call does nothing before it is started.
template <class Made>
void expect_alike(Communicator& rank, const char* name, std::size_t length, Made made) {
  const Floats untouched(length, -1);
  Floats called = untouched, started = untouched, prepared = untouched;
  EXPECT_EQ(rank.call(made(called)).to_string(), "ok") << name;
  auto one = rank.start(made(started));
  ASSERT_TRUE(one) << name << ": " << one.status().to_string();
  EXPECT_EQ(one->wait().to_string(), "ok") << name;
  auto other = rank.prepare(made(prepared));
  ASSERT_TRUE(other) << name << ": " << other.status().to_string();
  EXPECT_EQ(prepared, untouched) << name;
  EXPECT_EQ(other->start().to_string(), "ok") << name;
  EXPECT_EQ(other->wait().to_string(), "ok") << name;
  EXPECT_EQ(started, called) << name;
  EXPECT_EQ(prepared, called) << name;
}

class TypedCalls : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, TypedCalls, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(TypedCalls, AreTheSameCalledStartedAndPrepared) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    constexpr std::size_t n = 5;
    constexpr auto max = Reduction::Max;
    const auto me = static_cast<std::size_t>(rank.rank());
    const std::vector<std::size_t> counts = {1, 4, 2}, going = {me, me + 1, me + 2}, coming = {me, me + 1, me + 2};
    const Blocks uneven{.counts = counts}, to{.counts = going}, from{.counts = coming};
    const std::size_t own = counts[me], total = 7, taken = 3 * me + 3;
    Floats values(3 * n);
    std::iota(values.begin(), values.end(), static_cast<float>(100 * (me + 1)));
    const std::span<const float> in = values;
    const auto alike = [&](const char* name, std::size_t length, auto made) { expect_alike(rank, name, length, made); };
    alike("allreduce", n, [&](Out out) { return allreduce(in.first(n), out, max); });
    alike("reduce_scatter", n, [&](Out out) { return reduce_scatter(in.first(3 * n), out, max); });
    alike("reduce_scatterv", own, [&](Out out) { return reduce_scatterv(in, uneven, out, max); });
    alike("allgather", 3 * n, [&](Out out) { return allgather(in.first(n), out); });
    alike("allgatherv", total, [&](Out out) { return allgatherv(in.first(own), out, uneven); });
    alike("reduce", n, [&](Out out) { return lacuna::reduce(in.first(n), out, 1, max); });
    alike("gather", 3 * n, [&](Out out) { return gather(in.first(n), out, 1); });
    alike("gatherv", total, [&](Out out) { return gatherv(in.first(own), out, uneven, 1); });
    alike("scatter", n, [&](Out out) { return scatter(in.first(3 * n), out, 1); });
    alike("scatterv", own, [&](Out out) { return scatterv(in, uneven, out, 1); });
    alike("alltoall", 3 * n, [&](Out out) { return alltoall(in.first(3 * n), out); });
    alike("alltoallv", taken, [&](Out out) { return alltoallv(in, to, out, from); });
    alike("scan", n, [&](Out out) { return scan(in.first(n), out, max); });
    alike("exclusive_scan", n, [&](Out out) { return lacuna::exclusive_scan(in.first(n), out, max); });
    alike("barrier", 0, [](Out) { return barrier(); });
  });
}

/// A half of another library, with the bits of an f16.
struct OtherHalf {
  std::uint16_t bits;
};

}  // namespace

template <>
struct DtypeOf<OtherHalf> : std::integral_constant<Dtype, Dtype::F16> {};

namespace {

struct WrongSize {
  std::uint32_t bits;
};

}  // namespace

template <>
struct DtypeOf<WrongSize> : std::integral_constant<Dtype, Dtype::BF16> {};

namespace {

static_assert(Element<bf16> && Element<f16> && Element<OtherHalf>);
static_assert(!Element<WrongSize> && !Element<char> && !Element<bool> && !Element<std::string> && !Element<void*>);
static_assert(to_float(to_bf16(1.0f / 3)) == 0.333984375f && to_float(to_f16(1.0f / 3)) == 0.333251953125f);

TEST_P(TypedCalls, TakeElementsOf16Bits) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto mine = static_cast<float>(rank.rank() + 1);
    // A bf16 has 8 bits of precision, so 259 becomes 260. An f16 has 11, so 257.5 stays.
    std::vector<bf16> rough = {to_bf16(mine), to_bf16(rank.rank() == 0 ? 256.0f : 3.0f)};
    std::vector<f16> fine = {to_f16(mine), to_f16(rank.rank() == 0 ? 256.0f : 1.5f)};
    std::vector<OtherHalf> other = {{fine[0].bits}, {fine[1].bits}};
    EXPECT_EQ(rank.call(allreduce(rough)).to_string(), "ok");
    EXPECT_EQ(rank.call(allreduce(fine)).to_string(), "ok");
    EXPECT_EQ(rank.call(allreduce(other)).to_string(), "ok");
    EXPECT_EQ(to_float(rough[0]), 3);
    EXPECT_EQ(to_float(rough[1]), 260);
    EXPECT_EQ(to_float(fine[0]), 3);
    EXPECT_EQ(to_float(fine[1]), 257.5f);
    EXPECT_EQ(other[0].bits, fine[0].bits);
    EXPECT_EQ(other[1].bits, fine[1].bits);
  });
}

TEST_P(TypedCalls, MessagesTakeElementsOf16Bits) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    if (rank.rank() == 0) {
      const std::vector<bf16> sent = {to_bf16(-0.5f), to_bf16(3.0f)};
      EXPECT_EQ(rank.send(std::span(sent), 1).to_string(), "ok");
    } else {
      std::vector<bf16> taken(3);
      const auto count = rank.receive(std::span(taken), 0);
      ASSERT_TRUE(count) << count.status().to_string();
      EXPECT_EQ(*count, 2u);
      EXPECT_EQ(to_float(taken[0]), -0.5f);
      EXPECT_EQ(to_float(taken[1]), 3.0f);
    }
  });
}

TEST_P(TypedCalls, LengthsThatDoNotFitAreTheSameErrorCalledStartedAndPrepared) {
  auto ranks = local(2, GetParam());
  Floats data(10);
  const std::vector<std::size_t> counts = {3, 4};
  const std::span<float> few = std::span(data).first(4);
  const Options soon{.deadline = 200ms};
  const std::pair<TypedCall, const char*> wrong[] = {
      {allreduce(data, few, {}, soon), "allreduce: the input has 10 elements, must have 4"},
      {allgather(few, data, soon), "allgather: the output has 10 elements, must have 8"},
      {alltoallv(few, {.counts = counts}, data, {.counts = counts}, soon),
       "alltoallv: the input has 4 elements, must have 7 or more"}};
  for (const auto& [call, text] : wrong) {
    expect_error(ranks[0].call(call), Code::InvalidArgument, text);
    expect_error(ranks[0].start(call).status(), Code::InvalidArgument, text);
    expect_error(ranks[0].prepare(call).status(), Code::InvalidArgument, text);
  }
  EXPECT_TRUE(ranks[0].status());
}

TEST_P(TypedCalls, MayBeMadeOnceForManyCallsOfSeveralCommunicators) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const Floats mine(3, 1);
    Floats sum(3);
    const TypedCall call = allreduce(mine, sum);
    for (int i = 0; i < 2; ++i) {
      sum.assign(3, -1);
      EXPECT_EQ(rank.call(call).to_string(), "ok");
      EXPECT_EQ(sum, Floats(3, 2));
    }
    auto alone = rank.split(rank.rank());
    ASSERT_TRUE(alone);
    EXPECT_EQ((*alone)->call(call).to_string(), "ok");
    EXPECT_EQ(sum, mine);
  });
}

TEST_P(TypedCalls, TakeEntriesAndGiveThem) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<std::uint32_t>(rank.rank());
    const Options sparse{.method = topk({.density = 1, .feedback = false})};
    const std::vector<std::uint32_t> where = {7, me, 7};
    const Floats what = {1, 10, 2}, expected = {10, 10, 10, 0, 0, 0, 0, 9};
    Floats dense(8, -1);
    EXPECT_EQ(rank.call(allreduce(SparseInput<float>(where, what, 8), dense, {}, sparse)).to_string(), "ok");
    EXPECT_EQ(dense, expected);

    std::vector<std::uint32_t> places(6);
    Floats values(6);
    std::size_t entries = 0;
    SparseOutput<float> output(places, values, 8, entries);
    EXPECT_EQ(rank.call(allreduce(expected, output, {}, sparse)).to_string(), "ok");
    ASSERT_EQ(entries, 4u);
    EXPECT_EQ(std::vector(places.begin(), places.begin() + 4), (std::vector<std::uint32_t>{0, 1, 2, 7}));
    EXPECT_EQ(Floats(values.begin(), values.begin() + 4), (Floats{30, 30, 30, 27}));
  });
}

TEST(TypedCallsOfEntries, AreMadeOfConstantChangeableAndTemporaryOnes) {
  std::vector<std::uint32_t> places(2);
  std::vector<double> values(2);
  std::size_t entries = 0;
  SparseInput<double> input(places, values, 9);
  SparseOutput<double> output(places, values, 9, entries);
  const auto const_input = input;
  const auto const_output = output;
  const TypedCall made[] = {
      allreduce(input, output), allreduce(const_input, const_output),
      allreduce(SparseInput<double>(places, values, 9), SparseOutput<double>(places, values, 9, entries))};
  for (const TypedCall& one : made) {
    EXPECT_EQ(one.call.dtype, Dtype::F64);
    EXPECT_EQ(one.call.input_entries.places, places.data());
    EXPECT_EQ(one.call.input_entries.count, 2u);
    EXPECT_EQ(one.call.output_entries.places, places.data());
    EXPECT_EQ(one.call.output, values.data());
    EXPECT_EQ(one.input, 9u);
    EXPECT_EQ(one.output, 9u);
  }
}

TEST(TypedCallsOfRanges, TakeElementsAndLengthsFromVectorsArraysAndSpans) {
  const std::vector<double> doubles(4);
  double four[4] = {};
  const TypedCall one = allreduce(doubles, four, Reduction::Avg, {.algorithm = "ring"});
  EXPECT_EQ(one.call.dtype, Dtype::F64);
  EXPECT_EQ(one.call.input, doubles.data());
  EXPECT_EQ(one.call.output, four);
  EXPECT_EQ(one.call.reduction, Reduction::Avg);
  EXPECT_EQ(one.call.options.algorithm, "ring");
  EXPECT_EQ(one.input, 4u);
  EXPECT_EQ(one.output, 4u);

  std::array<std::uint8_t, 3> bytes{};
  std::vector<std::uint8_t> all(6);
  const TypedCall other = allgather(bytes, std::span(all).last(5));
  EXPECT_EQ(other.call.dtype, Dtype::U8);
  EXPECT_EQ(other.call.input, bytes.data());
  EXPECT_EQ(other.call.output, all.data() + 1);
  EXPECT_EQ(other.input, 3u);
  EXPECT_EQ(other.output, 5u);
}

TEST_P(TypedCalls, TakeSpansThatSayWhereTheyLie) {
  auto ranks = local(2, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto mine = static_cast<float>(rank.rank() + 1);
    Floats data(3, mine), sums(3), taken(3);
    const Memory pinned = {.kind = MemoryKind::CudaHost};
    const MemorySpan<const float> input{data.data(), 3, pinned};
    const MemorySpan<float> output{sums.data(), 3, pinned};
    EXPECT_EQ(rank.call(allreduce(input, output)).to_string(), "ok");
    EXPECT_EQ(sums, Floats(3, 3));
    const Rank other = 1 - rank.rank();
    const auto got = rank.sendrecv(input, other, MemorySpan<float>{taken.data(), 3}, other);
    ASSERT_TRUE(got) << got.status().to_string();
    EXPECT_EQ(*got, 3u);
    EXPECT_EQ(taken, Floats(3, 3 - mine));
  });
}

TEST(TypedCallsOfMemories, NeedOneMemoryForInputAndOutput) {
  auto ranks = local(1, Progress::Caller);
  Floats data(3), sums(3);
  const Memory device = {.kind = MemoryKind::Cuda}, other = {.kind = MemoryKind::Cuda, .device = 1};
  const auto said = [&](const Memory& in, const Memory& out) {
    return ranks[0].call(allreduce(MemorySpan{data.data(), 3, in}, MemorySpan{sums.data(), 3, out})).to_string();
  };
  EXPECT_EQ(said({}, device),
            "invalid argument: the input lies in host memory, the output in cuda memory; they must lie in one kind");
  EXPECT_NE(said(other, device).find("the input lies on device 1, ready after stream "), std::string::npos);
  EXPECT_EQ(said({}, {}), "ok");
  // A rank that has only an output tells where that lies.
  const TypedCall received = broadcast(MemorySpan{data.data(), 3, device});
  EXPECT_EQ(received.output_memory.kind, MemoryKind::Cuda);
  EXPECT_EQ(received.call.memory.kind, MemoryKind::Cuda);
}

TEST(TypedCallsOfMemories, TakeEntriesOfOneMemory) {
  auto ranks = local(1, Progress::Caller);
  const std::array<std::uint32_t, 2> where = {1, 3};
  Floats what = {5, 7}, found_values(2);
  std::array<std::uint32_t, 2> found_where{};
  std::size_t found = 0;
  const Memory pinned = {.kind = MemoryKind::CudaHost}, device = {.kind = MemoryKind::Cuda};
  const auto input_in = [&](const Memory& places, const Memory& values) {
    return SparseInput<float>(MemorySpan{where.data(), 2, places}, MemorySpan{what.data(), 2, values}, 5);
  };
  const auto output_in = [&](const Memory& memory) {
    return SparseOutput<float>(MemorySpan{found_where.data(), 2, memory}, MemorySpan{found_values.data(), 2, memory}, 5,
                               found);
  };
  const Options sparse{.method = *method_options("topk:density=1,feedback=0")};
  const auto said = [&](const SparseInput<float>& input, const SparseOutput<float>& output) {
    return ranks[0].call(allreduce(input, output, Reduction::Sum, sparse)).to_string();
  };
  EXPECT_EQ(said(input_in(pinned, pinned), output_in(pinned)), "ok");
  EXPECT_EQ(found, 2u);
  EXPECT_EQ(found_where, where);
  EXPECT_EQ(found_values, what);
  EXPECT_THROW(input_in(device, {}), std::invalid_argument);
  EXPECT_EQ(said(input_in(device, device), output_in({})),
            "invalid argument: the input lies in cuda memory, the output in host memory; they must lie in one kind");
  EXPECT_NE(said(input_in(device, device), output_in(device)).find("cuda memory"), std::string::npos);
  EXPECT_EQ(said(input_in({}, {}), output_in({})), "ok");
}

TEST(StreamHolds, AreRefusedWithWordsWhereNoStreamCanWait) {
  int stream = 0;
  Request empty;
  EXPECT_EQ(empty.hold_stream(&stream).to_string(), "ok");
  for (const Progress progress : {Progress::Caller, Progress::Thread}) {
    auto ranks = local(2, progress);
    Floats data(3);
    auto request = ranks[0].start(allreduce(data));
    ASSERT_TRUE(request);
    const Status held = request->hold_stream(&stream);
    EXPECT_EQ(held.code(), Code::Unsupported);
    EXPECT_NE(held.message().find(progress == Progress::Thread ? "before a call had its data on a device"
                                                               : "set LACUNA_PROGRESS=thread"),
              std::string::npos)
        << held.to_string();
    Floats other(3);
    auto last = ranks[1].start(allreduce(other));
    ASSERT_TRUE(last);
    while (!request->test() || !last->test()) {
    }
    EXPECT_EQ(request->hold_stream(&stream).is_ok(), progress == Progress::Thread);
  }
}

/// What an allreduce of such arguments would say.
template <class T, class Input, class Output>
constexpr BufferFault fault = fault_of_buffers<T, Buffers::ElementsOrEntries, Input, Output>();

TEST(TypedCallsOfRanges, RefuseWhatCannotBeTheirBuffers) {
  using Ints = std::vector<std::int32_t>;
  using F = BufferFault;
  struct Struct {
    int member;
  };
  static_assert(fault<void, const Floats&, Floats&> == F::None);
  static_assert(fault<float, const Floats&, std::span<float>> == F::None);
  static_assert(fault<void, const float&, float&> == F::None && fault<void, float&, std::span<float>> == F::None);
  static_assert(fault<double, Floats&, Floats&> == F::NotNamed && fault<double, float&, float&> == F::NotNamed);
  static_assert(fault<void, Ints&, Floats&> == F::Different && fault<void, double&, Floats&> == F::Different);
  static_assert(fault<void, const SparseInput<float>&, const SparseOutput<float>&> == F::None);
  static_assert(fault<void, const SparseInput<double>&, const SparseOutput<float>&> == F::Different);
  static_assert(fault<void, const SparseInput<double>&, Floats&> == F::Different);
  static_assert(fault<void, const Floats&, const SparseOutput<double>&> == F::Different);
  static_assert(fault<double, const SparseInput<float>&, Floats&> == F::NotNamed);
  static_assert(fault<void, Floats&, const Floats&> == F::Constant && fault<void, float&, const float&> == F::Constant);
  static_assert(fault<void, Floats&, std::span<const float>> == F::Constant);
  static_assert(fault<void, Floats, Floats&> == F::Temporary && fault<void, float, float&> == F::Temporary);
  static_assert(fault<void, Floats&, Floats> == F::Temporary);
  static_assert(fault<void, std::list<float>&, Floats&> == F::Scattered);
  static_assert(fault<void, std::vector<bool>&, std::vector<bool>&> == F::Scattered);
  static_assert(fault<void, std::string&, std::string&> == F::Element);
  static_assert(fault<void, Struct&, Struct&> == F::Element &&
                fault<void, std::vector<Struct>&, Floats&> == F::Element);
  static_assert(fault_of_buffers<void, Buffers::Elements, const SparseInput<float>&, Floats&>() == F::Entries);
}

}  // namespace
}  // namespace lacuna
