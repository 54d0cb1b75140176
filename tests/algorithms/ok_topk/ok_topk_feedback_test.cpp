#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"

// What ok_topk sends, and how it converges, where its residuals drive its selections.
namespace lacuna::test {
namespace {

constexpr std::size_t p = 8, n = 4000, k = 40;

/// Rank r's loss is the mean over j of h[r][j] (w[j] - c[r][j])^2 / 2. Gradients are noisy, and c moves with `speed`.
struct Problem {
  explicit Problem(float speed = 0) : h(p, std::vector<float>(n)), c(h), w(n), moves(n) {
    std::uniform_real_distribution<float> weight(0.5f, 1.5f);
    for (std::size_t j = 0; j < n; ++j) {
      const float centre = 3 * normal(random);
      moves[j] = speed * normal(random);
      for (std::size_t rank = 0; rank < p; ++rank) {
        h[rank][j] = weight(random);
        c[rank][j] = centre + normal(random) / 3;
      }
    }
  }

  Vectors steps() {
    Vectors all(p, std::vector<float>(n));
    for (std::size_t rank = 0; rank < p; ++rank) {
      for (std::size_t j = 0; j < n; ++j) {
        c[rank][j] += moves[j];
        all[rank][j] = 0.01f * (h[rank][j] * (w[j] - c[rank][j]) + normal(random));
      }
    }
    return all;
  }
  void descend(const std::vector<float>& sum) {
    for (std::size_t j = 0; j < n; ++j) w[j] -= sum[j] / p;
  }
  double loss() const {
    double sum = 0;
    for (std::size_t rank = 0; rank < p; ++rank) {
      for (std::size_t j = 0; j < n; ++j) sum += h[rank][j] * std::pow(double{w[j]} - c[rank][j], 2) / 2;
    }
    return sum / p / n;
  }

  std::mt19937 random{11};
  std::normal_distribution<float> normal;
  Vectors h, c;
  std::vector<float> w, moves;
};

/// What runs without an exact selection have selected, put into the result, and moved.
struct Counts {
  std::vector<double> selected, result, words;  // in units of k, of k, and of k(P-1)/P

  static double share(const std::vector<double>& of, auto test) {
    return static_cast<double>(std::count_if(of.begin(), of.end(), test)) / static_cast<double>(of.size());
  }
};

/// Runs that many steps. Returns the mean loss of the last fifth.
double run(OkRig& rig, Problem& problem, std::size_t steps, Counts* counts = nullptr) {
  double loss = 0;
  const std::uint64_t beside = (p - 1) * (2 * 16 + 4 + 4 * rig.steps().size());  // headers and offers
  for (std::size_t step = 0; step < steps; ++step) {
    const bool exactly = rig.reevaluates() || rig.repartitions();
    const Vectors inputs = problem.steps();
    std::vector<std::uint64_t> before;
    if (counts && !exactly) {
      for (Rank rank = 0; rank < Rank{p}; ++rank) before.push_back(rig.ranks.counters(rank).payload_received);
      for (const auto& selected : rig.expected(inputs).selected) {
        counts->selected.push_back(static_cast<double>(selected.size()) / k);
      }
    }
    EXPECT_EQ(rig.run_next(inputs), "");
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      const std::uint64_t got = rig.ranks.counters(static_cast<Rank>(rank)).payload_received - before[rank];
      counts->words.push_back(static_cast<double>(got - beside) / 4 / k * p / (p - 1));
    }
    if (!before.empty()) {
      counts->result.push_back(static_cast<double>(places_of(rig.outputs[0]).size()) / k);
    }
    problem.descend(rig.outputs[0]);
    if (5 * step >= 4 * steps) loss += problem.loss() * 5 / static_cast<double>(steps);
  }
  return loss;
}

class OkFeedback : public testing::TestWithParam<float> {};

TEST_P(OkFeedback, ResultsHaveKEntriesAndSelectionsAThirdMoreOrLess) {
  OkRig rig(p, k, 32, "format=coordinates");
  Problem problem(GetParam());
  Counts counts;
  run(rig, problem, 300, &counts);
  EXPECT_EQ(Counts::share(counts.result, [](double one) { return one != 1; }), 0);
  EXPECT_LE(Counts::share(counts.selected, [](double one) { return one < 2. / 3 || one > 4. / 3; }), 0.05);
}

/// Some runs may send more, because the ranges, which are cut every tau runs, have become uneven.
TEST_P(OkFeedback, VolumeIsWithinThePapersBound) {
  OkRig rig(p, k, 32, "format=coordinates");
  Problem problem(GetParam());
  Counts counts;
  run(rig, problem, 300, &counts);
  EXPECT_LE(Counts::share(counts.words, [](double one) { return one > 6; }), 0.01);
}

TEST_P(OkFeedback, ConvergesAsWithAnExactSelectionInEachRun) {
  OkRig rig(p, k, 32), exact(p, k, 1);
  Problem problem(GetParam()), same(GetParam());
  const double loss = run(rig, problem, 450), least = run(exact, same, 450);
  EXPECT_LE(loss, 1.1 * least);
}

INSTANTIATE_TEST_SUITE_P(, OkFeedback, testing::Values(0.0f, 0.01f),
                         [](const auto& one) { return one.param > 0 ? "Drifting" : "Convex"; });

}  // namespace
}  // namespace lacuna::test
