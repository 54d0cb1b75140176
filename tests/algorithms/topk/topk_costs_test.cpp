#include <numeric>

#include "algorithms/phases/predictions.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"

// What topk's algorithms are expected to send, compared with what they send and with the published formulas.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 60000;

/// Returns the expected bytes of an allreduce whose first part is `plan`.
double expected_bytes(const char* name, const std::string& options, Rank size, std::size_t elements, double entries,
                      std::optional<double> growth = {}) {
  Call call{.collective = Collective::Allreduce, .count = elements};
  call.options.algorithm = name;
  call.options.method = *method_options("topk:" + options);
  MethodState state;
  call.options.state = &state;
  const MethodAlgorithm& one = *call.options.method.method()->find(call.collective, name);
  const Hosts hosts = size;
  Plan plan;
  make_plan({call, *one.algorithm, hosts, 1 << 18}, plan);
  return one.predictions->bytes({.call = call,
                                 .plan = plan.parts.front(),
                                 .size = size,
                                 .places = static_cast<double>(elements),
                                 .entries = entries,
                                 .spread = growth ? spread_by_growth(*growth) : Spread()});
}

/// Each rank draws each place by this chance; or one rank draws for all.
Vectors drawn_inputs(double density, std::size_t ranks, bool identical) {
  std::mt19937 random(7);
  std::bernoulli_distribution there(density);
  Vectors all(ranks, std::vector<float>(count));
  for (auto& one : all) {
    for (float& value : one) value = there(random) ? 3.0f : 0.0f;
  }
  if (identical) all.assign(ranks, all.front());
  return all;
}

void expect_as_sent(double density, Rank size, bool identical, const std::string& options) {
  const Vectors inputs = drawn_inputs(density, static_cast<std::size_t>(size), identical);
  double entries = 0;
  for (const auto& one : inputs) entries += static_cast<double>(std::count(one.begin(), one.end(), 3.0f));
  for (const char* algorithm : sparse_allreduces) {
    const std::string ranged =
        algorithm == std::string("sparse_split") && identical ? options + ",ranges=even" : options;
    SparseRig rig(size);
    rig.sent();
    ASSERT_EQ(rig.run(inputs, algorithm, ranged), "");
    const std::vector<std::uint64_t> sent = rig.sent();
    const double mean = static_cast<double>(std::accumulate(sent.begin(), sent.end(), std::uint64_t{0})) / size;
    const auto growth = identical ? std::optional(0.0) : std::nullopt;
    EXPECT_NEAR(expected_bytes(algorithm, ranged, size, count, entries / size, growth) / mean, 1, 0.03)
        << algorithm << " P=" << size << " density " << density << " " << ranged;
  }
}

TEST(TopkCosts, AreWhatIsSentOfPlacesThatEachRankHasDrawn) {
  for (Rank size : {2, 3, 4, 6, 8}) {
    for (double density : {0.002, 0.02, 0.1, 0.4}) expect_as_sent(density, size, false, "density=1,feedback=0");
  }
}

TEST(TopkCosts, AreWhatIsSentWhereAllHaveTheSamePlaces) {
  for (Rank size : {2, 5, 8}) {
    for (double density : {0.01, 0.2}) expect_as_sent(density, size, true, "density=1,feedback=0");
  }
}

TEST(TopkCosts, FollowTheFormatThatIsAskedFor) {
  for (const char* format : {"coordinates", "local16", "bitmap", "dense"}) {
    expect_as_sent(0.05, 4, false, fmt::format("density=1,feedback=0,format={}", format));
  }
}

TEST(TopkCosts, OfOneRankAreNothing) {
  for (const char* algorithm : sparse_allreduces) EXPECT_EQ(expected_bytes(algorithm, "k=10", 1, 1000, 10), 0);
}

/// The published formulas count entries of 8 bytes and headers of 16, for that many ranks.
struct Published {
  double n, k, p;

  double union_of(double ranks) const { return n - n * std::pow(1 - k / n, ranks); }
  double sparse(double entries, double messages) const { return 8 * entries + 16 * messages; }
};

TEST(TopkCosts, InCoordinatesAreThePublishedFormulas) {
  const std::size_t n = 1 << 22;
  const std::string options = "k=40000,format=coordinates,chunks=1,ranges=even";
  for (Rank size : {2, 4, 8, 16, 64}) {
    const Published that{.n = n, .k = 40000, .p = static_cast<double>(size)};
    const auto near = [&](const char* algorithm, double bytes) {
      EXPECT_NEAR(expected_bytes(algorithm, options, size, n, 40000) / bytes, 1, 1e-4) << algorithm << " " << size;
    };
    near("sparse_allgather", that.sparse(that.k * (that.p - 1), that.p - 1));
    near("sparse_split", that.sparse((that.p - 1) / that.p * (that.k + that.union_of(that.p)), 2 * (that.p - 1)));
    double doubling = 0, around = (that.p - 1) * that.union_of(that.p);
    for (Rank ranks = 1; ranks < size; ranks *= 2) doubling += that.sparse(that.union_of(ranks), 1);
    near("sparse_doubling", doubling);
    for (Rank ranks = 1; ranks < size; ++ranks) around += that.union_of(ranks);
    near("sparse_ring", that.sparse(around / that.p, 2 * (that.p - 1)));
  }
}

TEST(TopkCosts, OfACappedRingDoNotDependOnTheUnion) {
  const std::string options = "k=40000,format=coordinates,chunks=1,capped=1";
  for (Rank size : {2, 8, 32}) {
    const double messages = 2.0 * (size - 1), bytes = messages * (8 * 40000.0 / size + 16);
    EXPECT_NEAR(expected_bytes("sparse_ring", options, size, 1 << 22, 40000) / bytes, 1, 1e-3) << size;
    EXPECT_NEAR(expected_bytes("sparse_ring", options, size, 1 << 22, 40000, 1.0) / bytes, 1, 1e-3) << size;
  }
}

TEST(TopkCosts, OfAGrowthArePowersOfTheRanks) {
  const std::string options = "k=1000,format=coordinates";
  const double grown = 8 * 1000 * (1 + std::pow(2, 0.75) + std::pow(4, 0.75)) + 3 * 16;
  EXPECT_NEAR(expected_bytes("sparse_doubling", options, 8, 1 << 22, 1000, 0.75), grown, 1);
  const double full = 8 * (900 + 1000 + 1000) + 3 * 16;
  EXPECT_NEAR(expected_bytes("sparse_doubling", options, 8, 1000, 900, 1), full, 1) << "no more than all places";
}

}  // namespace
}  // namespace lacuna::test
