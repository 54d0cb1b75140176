// Calls in place, with one buffer, compared with the same calls with two.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace test;
using Floats = std::vector<float>;

constexpr std::size_t n = 4;
const std::vector<std::size_t> counts = {1, 4, 2};
constexpr std::size_t total = 7;

/// Returns values that only this rank has.
Floats values_of(Rank rank, std::size_t length) {
  Floats values(length);
  std::iota(values.begin(), values.end(), static_cast<float>(100 * (rank + 1)));
  return values;
}

/// The call on one buffer must leave in it what the call on two has put into `output`.
void expect_result(Communicator& rank, const char* name, TypedCall two, const Floats& output, TypedCall one,
                   std::span<const float> in_place) {
  EXPECT_EQ(rank.call(std::move(two)).to_string(), "ok") << name;
  EXPECT_EQ(rank.call(std::move(one)).to_string(), "ok") << name;
  EXPECT_EQ(Floats(in_place.begin(), in_place.end()), output) << name << " on rank " << rank.rank();
}

TEST(InPlace, WithOneBufferGivesTheResultOfTwoWhereBothHaveOneLength) {
  auto ranks = local(3, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    Floats in = values_of(rank.rank(), 3 * n), out(3 * n), data = in;
    expect_result(rank, "allreduce", allreduce(in, out, Reduction::Max), out, allreduce(data, Reduction::Max), data);
    data = in;
    expect_result(rank, "scan", scan(in, out), out, scan(data), data);
    data = in;
    expect_result(rank, "alltoall", alltoall(in, out), out, alltoall(data), data);
    data = in, out = in;
    expect_result(rank, "exclusive_scan", lacuna::exclusive_scan(in, out), out, lacuna::exclusive_scan(data), data);
    data = in, out = in;
    expect_result(rank, "reduce", lacuna::reduce(in, out, 1), out, lacuna::reduce(data, 1), data);
  });
}

TEST(InPlace, WithOneBufferGivesTheResultOfTwoWhereOneHasBlocks) {
  auto ranks = local(3, Progress::Caller);
  on_each(ranks, [](Communicator& rank) {
    const auto me = static_cast<std::size_t>(rank.rank());
    const Floats in = values_of(rank.rank(), 3 * n);
    const Blocks uneven{.counts = counts};
    const std::size_t begin = me == 0 ? 0 : me == 1 ? 1 : 5;

    Floats block(n), all(3 * n), data = in;
    const std::span<float> whole = data, own = whole.subspan(me * n, n);
    expect_result(rank, "reduce_scatter", reduce_scatter(in, block), block, reduce_scatter(whole), own);
    data = in;
    expect_result(rank, "allgather", allgather(std::span(in).subspan(me * n, n), all), all, allgather(whole), data);

    Floats some(counts[me]), total_of(total), uneven_data(in.begin(), in.begin() + total);
    const Floats uneven_in = uneven_data;
    const std::span<float> own_part = std::span(uneven_data).subspan(begin, counts[me]);
    expect_result(rank, "reduce_scatterv", reduce_scatterv(uneven_in, uneven, some), some,
                  reduce_scatterv(uneven_data, uneven), own_part);
    uneven_data = uneven_in;
    expect_result(rank, "allgatherv", allgatherv(std::span(uneven_in).subspan(begin, counts[me]), total_of, uneven),
                  total_of, allgatherv(uneven_data, uneven), uneven_data);

    const bool root = rank.rank() == 1;
    data = in;
    const std::span<float> mine = root ? whole : own;
    all = root ? all : Floats(own.begin(), own.end());
    expect_result(rank, "gather", gather(std::span(in).subspan(me * n, n), all, 1), all, gather(mine, 1), mine);
    data = in;
    expect_result(rank, "scatter", scatter(in, block, 1), block, scatter(mine, 1), own);
  });
}

TEST(InPlace, ABufferThatIsNoBlockForEachRankIsRefused) {
  auto ranks = local(3, Progress::Caller);
  Floats data(7);
  expect_error(ranks[0].call(allgather(data)), Code::InvalidArgument, "the output has 7 elements, must have 6");
}

}  // namespace
}  // namespace lacuna
