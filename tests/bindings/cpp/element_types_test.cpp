// Typed calls on all types of elements, on single ones and on lists.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

/// The first moments of some numbers, as a program may have them.
struct Moments {
  double sum = 0, least = 0, largest = 0;
  std::int64_t count = 0;

  friend bool operator==(const Moments&, const Moments&) = default;
};

}  // namespace

template <>
struct DtypeOf<Moments> : std::integral_constant<Dtype, Dtype::Bytes32> {};

namespace {

using namespace test;

static_assert(DtypeOf<signed char>::value == Dtype::I8 && DtypeOf<unsigned char>::value == Dtype::U8);
static_assert(DtypeOf<short>::value == Dtype::I16 && DtypeOf<unsigned short>::value == Dtype::U16);
static_assert(DtypeOf<int>::value == Dtype::I32 && DtypeOf<unsigned>::value == Dtype::U32);
static_assert(DtypeOf<long>::value == (sizeof(long) == 8 ? Dtype::I64 : Dtype::I32));
static_assert(DtypeOf<unsigned long>::value == (sizeof(long) == 8 ? Dtype::U64 : Dtype::U32));
static_assert(DtypeOf<long long>::value == Dtype::I64 && DtypeOf<unsigned long long>::value == Dtype::U64);
static_assert(DtypeOf<std::complex<float>>::value == Dtype::C64 &&
              DtypeOf<Located<double>>::value == Dtype::LocatedF64);

template <class T>
class TypesOfElements : public testing::Test {};
using Integers = testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
                                long long, unsigned long long>;
TYPED_TEST_SUITE(TypesOfElements, Integers);

TYPED_TEST(TypesOfElements, IntegersOfAllSpellingsAreReducedAloneAndInLists) {
  using T = TypeParam;
  auto ranks = local(3, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<T>(rank.rank());
    T largest = static_cast<T>(std::numeric_limits<T>::max() - me);
    EXPECT_EQ(rank.call(allreduce(largest, Reduction::Max)).to_string(), "ok");
    EXPECT_EQ(largest, std::numeric_limits<T>::max());
    T least = static_cast<T>(std::numeric_limits<T>::min() + me);
    EXPECT_EQ(rank.call(allreduce(least, Reduction::Min)).to_string(), "ok");
    EXPECT_EQ(least, std::numeric_limits<T>::min());

    const std::vector<T> mine = {me, static_cast<T>(me + 1)};
    std::vector<T> sum(2), all(6);
    EXPECT_EQ(rank.call(allreduce(mine, sum)).to_string(), "ok");
    EXPECT_EQ(sum, (std::vector<T>{3, 6}));
    EXPECT_EQ(rank.call(allgather(mine, all)).to_string(), "ok");
    EXPECT_EQ(all, (std::vector<T>{0, 1, 1, 2, 2, 3}));
    expect_error(rank.call(allreduce(sum, Reduction::Avg)), Code::InvalidArgument,
                 "is not defined; " + std::string(to_string(DtypeOf<T>::value)) + " takes sum, min, max or prod");
  });
}

TEST(SingleElements, AreGatheredScatteredAndSentByTheRoot) {
  auto ranks = local(3, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    double mine = rank.rank() + 0.5, given = -1;
    std::vector<double> all(3);
    EXPECT_EQ(rank.call(allgather(mine, all)).to_string(), "ok");
    EXPECT_EQ(all, (std::vector{0.5, 1.5, 2.5}));
    EXPECT_EQ(rank.call(scatter(all, given, 1)).to_string(), "ok");
    EXPECT_EQ(given, mine);
    EXPECT_EQ(rank.call(broadcast(mine, 2)).to_string(), "ok");
    EXPECT_EQ(mine, 2.5);
    int count = rank.rank(), root = 1;
    EXPECT_EQ(rank.call(lacuna::reduce(count, root)).to_string(), "ok");  // an integer after a buffer is the root
    EXPECT_EQ(count, rank.rank() == 1 ? 3 : rank.rank());
  });
}

TEST(ComplexElements, TakeSumsAndProductsAndRefuseTheRest) {
  auto ranks = local(2, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    using C = std::complex<float>;
    std::vector<C> mine = {C(1, 2), C(0, static_cast<float>(rank.rank()) + 1)};
    std::vector<C> sum(2), product(2);
    EXPECT_EQ(rank.call(allreduce(mine, sum)).to_string(), "ok");
    EXPECT_EQ(rank.call(allreduce(mine, product, Reduction::Prod)).to_string(), "ok");
    EXPECT_EQ(sum, (std::vector{C(2, 4), C(0, 3)}));
    EXPECT_EQ(product, (std::vector{C(-3, 4), C(-2, 0)}));
    for (Reduction reduction : {Reduction::Avg, Reduction::Min, Reduction::Max}) {
      expect_error(rank.call(allreduce(mine, sum, reduction)), Code::InvalidArgument,
                   std::string(to_string(reduction)) + " of c64 is not defined; c64 takes sum or prod");
    }
    std::complex<double> one(rank.rank(), 1);
    EXPECT_EQ(rank.call(scan(one)).to_string(), "ok");
    EXPECT_EQ(one, rank.rank() == 0 ? std::complex<double>(0, 1) : std::complex<double>(1, 2));
  });
}

TEST(LocatedElements, TellWhichRankHasTheLeastAndTheLargest) {
  auto ranks = local(4, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    const double mine[] = {3, 1, 5, 1};
    Located<double> least{mine[rank.rank()], rank.rank()}, largest = least;
    EXPECT_EQ(rank.call(allreduce(least, Reduction::Min)).to_string(), "ok");
    EXPECT_EQ(rank.call(allreduce(largest, Reduction::Max)).to_string(), "ok");
    EXPECT_EQ(least, (Located<double>{1, 1}));
    EXPECT_EQ(largest, (Located<double>{5, 2}));
    expect_error(rank.call(allreduce(least)), Code::InvalidArgument,
                 "sum of located_f64 is not defined; located_f64 takes min or max");
  });
}

TEST(MethodsOfOtherElements, SayWhichTypesTheyTake) {
  auto ranks = local(2, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    std::vector<std::complex<float>> data(4);
    const char* const allowed = " of c64: methods take only f32, f64, bf16, f16, i32, i64, u8, i8, i16, u16, u32, u64";
    expect_error(rank.call(allreduce(data, {}, {.method = skip({.steps = 1})})), Code::InvalidArgument,
                 "skip" + std::string(allowed));
    expect_error(rank.call(allreduce(data, {}, {.method = topk({.k = 1, .feedback = false})})), Code::InvalidArgument,
                 "topk" + std::string(allowed));
    std::vector<std::uint16_t> numbers(4);
    expect_error(rank.call(allreduce(numbers, {}, {.method = topk({.k = 1, .feedback = false})})),
                 Code::InvalidArgument, "topk of u16: the data must be of floating point");
  });
}

OwnReduction merge(std::uint64_t id = 1) {
  return own_reduction<Moments>(
      [](const Moments& a, const Moments& b) {
        return Moments{a.sum + b.sum, std::min(a.least, b.least), std::max(a.largest, b.largest), a.count + b.count};
      },
      id);
}

class OwnReductions : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, OwnReductions, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(OwnReductions, ReduceStructuresOfTheProgramInAllCollectivesThatReduce) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    const auto of = [](int first, int last, std::size_t i) {  // the moments of what these ranks give as element i
      Moments all{.least = 1e9, .largest = -1e9};
      for (int r = first; r <= last; ++r) {
        const double number = static_cast<double>(i % 100) * 3 - r * 40.0;
        all.sum += number;
        all.least = std::min(all.least, number);
        all.largest = std::max(all.largest, number);
        all.count += 1;
      }
      return all;
    };
    const int me = rank.rank();
    constexpr std::size_t n = 30011;  // so that a call has several parts, whose messages come in pieces
    std::vector<Moments> mine(n), expected(n), result(n);
    for (std::size_t i = 0; i < n; ++i) mine[i] = of(me, me, i), expected[i] = of(0, 2, i);
    EXPECT_EQ(rank.call(allreduce(mine, result, merge())).to_string(), "ok");
    EXPECT_TRUE(result == expected);
    EXPECT_EQ(rank.call(lacuna::reduce(mine, result, 1, merge())).to_string(), "ok");
    EXPECT_TRUE(me != 1 || result == expected);
    std::vector<Moments> block(n / 3);
    const auto blocks = std::span(mine).first(3 * block.size());
    EXPECT_EQ(rank.call(reduce_scatter(blocks, block, merge())).to_string(), "ok");
    const std::size_t begin = block.size() * static_cast<std::size_t>(me);
    EXPECT_TRUE(std::equal(block.begin(), block.end(), expected.begin() + static_cast<std::ptrdiff_t>(begin)));
    Moments one = mine[7];
    EXPECT_EQ(rank.call(scan(one, merge())).to_string(), "ok");
    EXPECT_EQ(one, of(0, me, 7));
  });
}

TEST(OwnReductionsThatDiffer, AreAMismatchThatNamesBoth) {
  auto ranks = local(2, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    Moments mine;
    const auto id = static_cast<std::uint64_t>(rank.rank()) + 71;
    const Status failed = rank.call(allreduce(mine, merge(id)));
    expect_error(failed, Code::Mismatch, "own 71");
    expect_error(failed, Code::Mismatch, "own 72");
  });
}

TEST(OwnReductionsThatCannotBe, AreRefused) {
  auto ranks = local(1, Progress::Caller);
  Moments mine;
  float number = 1;
  expect_error(ranks[0].call(allreduce(mine)), Code::InvalidArgument,
               "sum of bytes32 is not defined; bytes32 takes only own, a reduction of the program");
  expect_error(ranks[0].call(allreduce(mine, OwnReduction{})), Code::InvalidArgument, "its function is null");
  expect_error(ranks[0].call(allreduce(number, merge())), Code::InvalidArgument, "own of f32 is not defined");
}

}  // namespace
}  // namespace lacuna
