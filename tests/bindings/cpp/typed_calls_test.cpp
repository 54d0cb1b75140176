#include <gtest/gtest.h>

#include <numeric>

#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace test;

using Floats = std::vector<float>;
using Out = std::span<float>;

/// The three forms of a typed call give the same; what is prepared does nothing before it is started.
template <class Plain, class Start, class Prepare>
void expect_alike(const char* name, std::size_t length, Plain plain, Start start, Prepare prepare) {
  const Floats untouched(length, -1);
  Floats waited = untouched, started = untouched, prepared = untouched;
  EXPECT_EQ(plain(waited).to_string(), "ok") << name;
  auto one = start(started);
  ASSERT_TRUE(one) << name << ": " << one.status().to_string();
  EXPECT_EQ(one->wait().to_string(), "ok") << name;
  auto other = prepare(prepared);
  ASSERT_TRUE(other) << name << ": " << other.status().to_string();
  EXPECT_EQ(prepared, untouched) << name;
  EXPECT_EQ(other->start().to_string(), "ok") << name;
  EXPECT_EQ(other->wait().to_string(), "ok") << name;
  EXPECT_EQ(started, waited) << name;
  EXPECT_EQ(prepared, waited) << name;
}

class TypedCalls : public testing::TestWithParam<Progress> {};
INSTANTIATE_TEST_SUITE_P(, TypedCalls, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(TypedCalls, AreTheSameWaitedForStartedAndPrepared) {
  auto ranks = local(3, GetParam());
  on_each(ranks, [](Communicator& rank) {
    constexpr std::size_t n = 5;
    const auto me = static_cast<std::size_t>(rank.rank());
    const std::vector<std::size_t> counts = {1, 4, 2}, going = {me, me + 1, me + 2}, coming = {me, me + 1, me + 2};
    const Blocks uneven{.counts = counts}, to{.counts = going}, from{.counts = coming};
    const std::size_t own = counts[me], total = 7, taken = 3 * me + 3;
    Floats values(3 * n);
    std::iota(values.begin(), values.end(), static_cast<float>(100 * (me + 1)));
    const std::span<const float> in = values;
    expect_alike(
        "allreduce", n, [&](Out out) { return rank.allreduce<float>(in.first(n), out, Reduction::Max); },
        [&](Out out) { return rank.start_allreduce<float>(in.first(n), out, Reduction::Max); },
        [&](Out out) { return rank.prepare_allreduce<float>(in.first(n), out, Reduction::Max); });
    expect_alike(
        "reduce_scatter", n, [&](Out out) { return rank.reduce_scatter<float>(in.first(3 * n), out, Reduction::Max); },
        [&](Out out) { return rank.start_reduce_scatter<float>(in.first(3 * n), out, Reduction::Max); },
        [&](Out out) { return rank.prepare_reduce_scatter<float>(in.first(3 * n), out, Reduction::Max); });
    expect_alike(
        "reduce_scatterv", own, [&](Out out) { return rank.reduce_scatterv<float>(in, uneven, out, Reduction::Max); },
        [&](Out out) { return rank.start_reduce_scatterv<float>(in, uneven, out, Reduction::Max); },
        [&](Out out) { return rank.prepare_reduce_scatterv<float>(in, uneven, out, Reduction::Max); });
    expect_alike(
        "allgather", 3 * n, [&](Out out) { return rank.allgather<float>(in.first(n), out); },
        [&](Out out) { return rank.start_allgather<float>(in.first(n), out); },
        [&](Out out) { return rank.prepare_allgather<float>(in.first(n), out); });
    expect_alike(
        "allgatherv", total, [&](Out out) { return rank.allgatherv<float>(in.first(own), out, uneven); },
        [&](Out out) { return rank.start_allgatherv<float>(in.first(own), out, uneven); },
        [&](Out out) { return rank.prepare_allgatherv<float>(in.first(own), out, uneven); });
    expect_alike(
        "reduce", n, [&](Out out) { return rank.reduce<float>(in.first(n), out, 1, Reduction::Max); },
        [&](Out out) { return rank.start_reduce<float>(in.first(n), out, 1, Reduction::Max); },
        [&](Out out) { return rank.prepare_reduce<float>(in.first(n), out, 1, Reduction::Max); });
    expect_alike(
        "gather", 3 * n, [&](Out out) { return rank.gather<float>(in.first(n), out, 1); },
        [&](Out out) { return rank.start_gather<float>(in.first(n), out, 1); },
        [&](Out out) { return rank.prepare_gather<float>(in.first(n), out, 1); });
    expect_alike(
        "gatherv", total, [&](Out out) { return rank.gatherv<float>(in.first(own), out, uneven, 1); },
        [&](Out out) { return rank.start_gatherv<float>(in.first(own), out, uneven, 1); },
        [&](Out out) { return rank.prepare_gatherv<float>(in.first(own), out, uneven, 1); });
    expect_alike(
        "scatter", n, [&](Out out) { return rank.scatter<float>(in.first(3 * n), out, 1); },
        [&](Out out) { return rank.start_scatter<float>(in.first(3 * n), out, 1); },
        [&](Out out) { return rank.prepare_scatter<float>(in.first(3 * n), out, 1); });
    expect_alike(
        "scatterv", own, [&](Out out) { return rank.scatterv<float>(in, uneven, out, 1); },
        [&](Out out) { return rank.start_scatterv<float>(in, uneven, out, 1); },
        [&](Out out) { return rank.prepare_scatterv<float>(in, uneven, out, 1); });
    expect_alike(
        "alltoall", 3 * n, [&](Out out) { return rank.alltoall<float>(in.first(3 * n), out); },
        [&](Out out) { return rank.start_alltoall<float>(in.first(3 * n), out); },
        [&](Out out) { return rank.prepare_alltoall<float>(in.first(3 * n), out); });
    expect_alike(
        "alltoallv", taken, [&](Out out) { return rank.alltoallv<float>(in, to, out, from); },
        [&](Out out) { return rank.start_alltoallv<float>(in, to, out, from); },
        [&](Out out) { return rank.prepare_alltoallv<float>(in, to, out, from); });
    expect_alike(
        "scan", n, [&](Out out) { return rank.scan<float>(in.first(n), out, Reduction::Max); },
        [&](Out out) { return rank.start_scan<float>(in.first(n), out, Reduction::Max); },
        [&](Out out) { return rank.prepare_scan<float>(in.first(n), out, Reduction::Max); });
    expect_alike(
        "exclusive_scan", n, [&](Out out) { return rank.exclusive_scan<float>(in.first(n), out, Reduction::Max); },
        [&](Out out) { return rank.start_exclusive_scan<float>(in.first(n), out, Reduction::Max); },
        [&](Out out) { return rank.prepare_exclusive_scan<float>(in.first(n), out, Reduction::Max); });
  });
}

}  // namespace
}  // namespace lacuna
