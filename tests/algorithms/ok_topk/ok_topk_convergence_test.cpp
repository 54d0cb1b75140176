#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"

// Gradient descent that sends one percent of the gradient converges.
namespace lacuna::test {
namespace {

constexpr std::size_t p = 8, n = 1000;
constexpr float rate = 0.005f;

/// Rank r's loss is the sum over j of h[r][j] (w[j] - c[r][j])^2 / 2, with h around 1 and c around a common centre.
struct LeastSquares {
  Vectors h, c;

  LeastSquares() : h(p, std::vector<float>(n)), c(h) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> weight(0.5f, 1.5f);
    std::vector<float> centre(n);
    for (float& one : centre) one = 3 * normal(random);
    for (std::size_t rank = 0; rank < p; ++rank) {
      for (std::size_t j = 0; j < n; ++j) {
        h[rank][j] = weight(random);
        c[rank][j] = centre[j] + normal(random) / 3;
      }
    }
  }

  double loss(const std::vector<float>& w) const {
    double sum = 0;
    for (std::size_t rank = 0; rank < p; ++rank) {
      for (std::size_t j = 0; j < n; ++j) sum += h[rank][j] * std::pow(w[j] - c[rank][j], 2) / 2;
    }
    return sum / p;
  }
  /// Returns gradients times the learning rate, as in the paper's algorithm 2.
  Vectors steps(const std::vector<float>& w) const {
    Vectors all(p, std::vector<float>(n));
    for (std::size_t rank = 0; rank < p; ++rank) {
      for (std::size_t j = 0; j < n; ++j) all[rank][j] = rate * h[rank][j] * (w[j] - c[rank][j]);
    }
    return all;
  }
};

/// Returns xi by equation 5: how far the result is from the best one of as many elements, in units of the mean step.
double xi(const OkRig& rig, const Vectors& accumulated, const Vectors& steps, std::size_t k) {
  const std::vector<float> all = sum_of(accumulated), best = only(all, largest_places(all, k)), step = sum_of(steps);
  double difference = 0, norm = 0;
  for (std::size_t j = 0; j < n; ++j) {
    difference += std::pow((best[j] - rig.outputs[0][j]) / p, 2);
    norm += std::pow(step[j] / p, 2);
  }
  return std::sqrt(difference / norm);
}

TEST(OkConvergence, OfLeastSquaresIsThatOfDenseDescentInAsManySteps) {
  constexpr std::size_t k = n / 100;
  const LeastSquares problem;
  std::vector<float> dense(n), sparse(n);
  OkRig rig(p, k, 32);
  double largest_xi = 0;
  for (int step = 0; step < 2500; ++step) {
    const std::vector<float> down = sum_of(problem.steps(dense));
    for (std::size_t j = 0; j < n; ++j) dense[j] -= down[j] / p;
    const Vectors steps = problem.steps(sparse);
    Vectors accumulated;
    for (std::size_t rank = 0; rank < p; ++rank) accumulated.push_back(rig.accumulated(steps, rank));
    ASSERT_EQ(rig.run_next(steps), "");
    for (std::size_t j = 0; j < n; ++j) sparse[j] -= rig.outputs[0][j] / p;
    const double here = xi(rig, accumulated, steps, k);
    ASSERT_TRUE(std::isfinite(here)) << step;
    largest_xi = std::max(largest_xi, here);
  }
  EXPECT_LE(problem.loss(sparse), 1.1 * problem.loss(dense));
  EXPECT_LT(problem.loss(sparse), problem.loss(std::vector<float>(n)) / 5) << "it has not moved";
  EXPECT_GT(largest_xi, 0);
  RecordProperty("largest_xi", fmt::format("{:.3f}", largest_xi));
}

}  // namespace
}  // namespace lacuna::test
