#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "algorithms/skip/skipping.hpp"
#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

// What each rank weighs in a result, on average over all orders that a mode may draw. Each order counts once.
namespace lacuna::test {
namespace {

using Weights = std::vector<std::vector<double>>;  // by rank, by element of an output

/// Returns enough calls to see all orders of a mode, by the ranks at their positions.
std::map<std::vector<Rank>, Sampler> a_draw_for_each_order(const Algorithm& algorithm, const Call& call,
                                                           const Hosts& hosts) {
  std::map<std::vector<Rank>, Sampler> orders;
  for (Sampler sampler{.seed = 1, .key = 2}; sampler.draw < 600; ++sampler.draw) {
    const Order order = skip_order({call, algorithm, hosts, sampler}, 0);
    std::vector<Rank> ranks;
    for (Rank position = 0; position < hosts.size(); ++position) ranks.push_back(order.rank_of(position));
    orders.emplace(ranks, sampler);
  }
  return orders;
}

const Algorithm* called(Collective collective, std::string_view name) {
  for (const Algorithm* algorithm : skipping_algorithms(collective)) {
    if (algorithm->name == name) return algorithm;
  }
  return nullptr;
}

struct Place {
  std::vector<Rank> hosts;
  const char* name;
};

const Place places[] = {{{0, 0, 0}, "one of 3"},
                        {{0, 0, 0, 0}, "one of 4"},
                        {{0, 0, 1}, "2 + 1"},
                        {{0, 1, 0}, "2 + 1, mixed"},
                        {{0, 0, 0, 1, 2, 2}, "3 + 1 + 2"},
                        {{0, 1, 2, 1, 0, 2}, "mixed, even"},
                        {{0, 1, 2, 1, 1}, "mixed"},
                        {{0, 0, 1, 1}, "2 + 2"}};

class Weighing {
 public:
  Weighing(const Algorithm& algorithm, const Place& place, const Skip& skip)
      : algorithm_(algorithm), rig_(static_cast<Rank>(place.hosts.size()), place.hosts, 1 << 20) {
    call_.collective = algorithm.collective;
    call_.dtype = Dtype::F64;
    call_.reduction = Reduction::Avg;
    call_.options.algorithm = algorithm.name;
    call_.options.method = lacuna::skip(skip);
  }

  Rank size() { return rig_.ranks.size(); }
  std::size_t orders() { return draws().size(); }

  /// Returns the mean weights in the output of rank 0.
  Weights mean() {
    const auto p = static_cast<std::size_t>(size());
    const auto all = draws();
    Weights weights(p, std::vector<double>(output_count()));
    for (const auto& [order, sampler] : all) {
      for (std::size_t one = 0; one < p; ++one) {
        for (std::size_t rank = 0; rank < p; ++rank) rig_.inputs[rank].assign(count, rank == one ? 1 : 0);
        rig_.samplers.assign(p, sampler);
        rig_.run(rig_.calls_with(call_, [&](Call& call, Rank rank) {
          call.options.sampler = &rig_.samplers[static_cast<std::size_t>(rank)];
        }));
        for (std::size_t i = 0; i < output_count(); ++i) {
          weights[one][i] += rig_.outputs[0][i] / static_cast<double>(all.size());
        }
      }
    }
    return weights;
  }

 private:
  static constexpr std::size_t count = 60;  // pieces of 1 .. 6 ranks are whole

  std::size_t output_count() {
    return algorithm_.collective == Collective::ReduceScatter ? count / static_cast<std::size_t>(size()) : count;
  }
  std::map<std::vector<Rank>, Sampler> draws() {
    return a_draw_for_each_order(algorithm_, call_, rig_.ranks.communicator(0).hosts());
  }

  const Algorithm& algorithm_;
  SkipRig<double> rig_;
  Call call_;
};

void expect_equal_weights(const Algorithm& algorithm, const Place& place, const Skip& skip) {
  Weighing weighing(algorithm, place, skip);
  SCOPED_TRACE(testing::Message() << algorithm.name << " on " << place.name << ", S = " << skip.steps << ", "
                                  << to_string(skip.mode) << " " << to_string(skip.scale));
  const Weights weights = weighing.mean();
  for (std::size_t i = 0; i < weights[0].size(); ++i) {
    const double expected = skip.scale == SkipScale::Renormalised ? 1.0 / weighing.size() : weights[0][i];
    for (const auto& of_rank : weights) ASSERT_NEAR(of_rank[i], expected, 1e-9) << "element " << i;
  }
}

TEST(SkipBias, InAnAllreduceWithADrawnOrderAllRanksWeighTheSame) {
  for (const Algorithm* algorithm : skipping_algorithms(Collective::Allreduce)) {
    for (const Place& place : places) {
      const Hosts hosts(place.hosts);
      if (!algorithm->by_hosts && hosts.count() > 1) continue;
      for (SkipMode mode : {SkipMode::Random, SkipMode::Shuffled}) {
        if (mode == SkipMode::Shuffled && (algorithm->by_hosts || hosts.size() > 4)) continue;
        for (int steps = 1; steps <= skipping_of(*algorithm)->most(hosts); ++steps) {
          for (SkipScale scale : {SkipScale::ZeroFill, SkipScale::Renormalised}) {
            expect_equal_weights(*algorithm, place, {.steps = steps, .mode = mode, .scale = scale});
          }
        }
      }
    }
  }
}

TEST(SkipBias, AllOrdersThatAModeMayDrawAreCounted) {
  const auto orders = [](const char* name, const Place& place, SkipMode mode) {
    const Algorithm* algorithm = called(Collective::Allreduce, name);
    return Weighing(*algorithm, place, {.steps = 1, .mode = mode}).orders();
  };
  EXPECT_EQ(orders("ring", places[1], SkipMode::Random), 4u);
  EXPECT_EQ(orders("ring", places[1], SkipMode::Shuffled), 24u);
  EXPECT_EQ(orders("two_level", places[4], SkipMode::Random), 3u);
}

/// A rank that owns a block never leaves its own term of it out.
TEST(SkipBias, InAReduceScatterTheOwnerOfABlockWeighsMore) {
  const Algorithm* algorithm = called(Collective::ReduceScatter, "ring");
  for (const Place& place : {places[0], places[1]}) {
    const double p = static_cast<double>(place.hosts.size());
    for (int steps = 1; steps < static_cast<int>(place.hosts.size()); ++steps) {
      Weighing weighing(*algorithm, place,
                        {.steps = steps, .mode = SkipMode::Shuffled, .scale = SkipScale::Renormalised});
      const Weights weights = weighing.mean();
      for (double weight : weights[0]) EXPECT_NEAR(weight, 1 / (p - steps), 1e-9);
      for (double weight : weights[1]) EXPECT_NEAR(weight, (p - 1 - steps) / ((p - 1) * (p - steps)), 1e-9);
    }
  }
}

/// In one call of a static order only its contributors have weights.
TEST(SkipBias, AStaticOrderTakesTheMeanOfWhoIsThere) {
  const Algorithm* algorithm = called(Collective::Allreduce, "two_level");
  Weighing weighing(*algorithm, places[2], {.steps = 1, .scale = SkipScale::Renormalised});
  const Weights weights = weighing.mean();
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ((std::vector<double>{weights[0][i], weights[1][i], weights[2][i]}), (std::vector<double>{0.5, 0.5, 0}));
    const std::size_t later = 30 + i;
    EXPECT_EQ((std::vector<double>{weights[0][later], weights[1][later], weights[2][later]}),
              (std::vector<double>{0, 0, 1}));
  }
}

}  // namespace
}  // namespace lacuna::test
