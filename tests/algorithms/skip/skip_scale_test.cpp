#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/algorithms/skip/skip_rig.hpp"
#include "tests/support/skip_call.hpp"

// What skipping does to the values on the ring: the acceptance properties that are about means and angles.
namespace lacuna::test {
namespace {

Call ring_call(Dtype dtype, Reduction reduction, const Skip& skip) {
  Call call{.collective = Collective::Allreduce, .dtype = dtype, .reduction = reduction};
  call.options.algorithm = "skip_ring";
  call.options.method = lacuna::skip(skip);
  return call;
}

template <class T>
void run_with(SkipRig<T>& rig, const Call& like, const Sampler& sampler) {
  rig.samplers.assign(rig.inputs.size(), sampler);
  rig.run(rig.calls_with(
      like, [&](Call& call, Rank rank) { call.options.sampler = &rig.samplers[static_cast<std::size_t>(rank)]; }));
}

/// Returns a draw for each rotation of the ring in a call of one part.
std::map<std::uint32_t, Sampler> a_draw_for_each_turn(Rank size) {
  std::map<std::uint32_t, Sampler> draws;
  for (Sampler sampler{.seed = 3}; draws.size() < static_cast<std::size_t>(size); ++sampler.draw) {
    draws[bounded_draw(sampler, 0, static_cast<std::uint32_t>(size))] = sampler;
  }
  return draws;
}

TEST(SkipScale, TheMeanOverAllTurnsIsTheDenseAverageScaledDown) {
  for (Rank size : skip_sizes) {
    SkipRig<float> rig(size);
    rig.fill_normal(24, 1);
    for (int skip = 0; skip < size; ++skip) {
      std::vector<double> mean(24), renormalised(24);
      for (const auto& [turn, sampler] : a_draw_for_each_turn(size)) {
        const Skip asked{.steps = skip, .mode = SkipMode::Random};
        run_with(rig, ring_call(Dtype::F32, Reduction::Avg, asked), sampler);
        for (std::size_t i = 0; i < 24; ++i) mean[i] += static_cast<double>(rig.outputs[0][i]) / size;
        Skip scaled = asked;
        scaled.scale = SkipScale::Renormalised;
        run_with(rig, ring_call(Dtype::F32, Reduction::Avg, scaled), sampler);
        for (std::size_t i = 0; i < 24; ++i) renormalised[i] += static_cast<double>(rig.outputs[0][i]) / size;
      }
      for (std::size_t i = 0; i < 24; ++i) {
        double dense = 0;
        for (const auto& input : rig.inputs) dense += static_cast<double>(input[i]) / size;
        EXPECT_NEAR(mean[i], dense * (size - skip) / size, 1e-6);
        EXPECT_NEAR(renormalised[i], dense, 1e-6) << "renormalised results are biased";
      }
    }
  }
}

TEST(SkipScale, OfIndependentInputsAngleLengthAndErrorFollowTheShareLeftOut) {
  constexpr Rank size = 8;
  constexpr std::size_t count = 40000;
  SkipRig<float> rig(size);
  rig.fill_normal(count, 2);
  std::vector<double> dense(count);
  for (const auto& input : rig.inputs) {
    for (std::size_t i = 0; i < count; ++i) dense[i] += static_cast<double>(input[i]);
  }
  for (int skip = 0; skip < size; ++skip) {
    run_with(rig, ring_call(Dtype::F32, Reduction::Sum, {.steps = skip, .mode = SkipMode::Random}), {.seed = 4});
    double product = 0, dense_square = 0, square = 0, error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(rig.outputs[0][i]);
      product += value * dense[i];
      square += value * value;
      dense_square += dense[i] * dense[i];
      error += (value - dense[i]) * (value - dense[i]);
    }
    const double share = 1.0 * skip / size;
    EXPECT_NEAR(product / std::sqrt(square * dense_square), std::sqrt(1 - share), 0.01) << "S = " << skip;
    EXPECT_NEAR(std::sqrt(square / dense_square), std::sqrt(1 - share), 0.01) << "S = " << skip;
    EXPECT_NEAR(std::sqrt(error / dense_square), std::sqrt(share), 0.01) << "S = " << skip;
  }
}

TEST(SkipScale, OneContributorIsItsOwnMean) {
  for (Rank size : skip_sizes) {
    SkipRig<float> rig(size);
    rig.fill_normal(37, 3);
    const Skip lone{.steps = size - 1, .scale = SkipScale::Renormalised};
    for (bool in_place : {false, true}) {
      std::vector<Call> calls = rig.calls_with(ring_call(Dtype::F32, Reduction::Avg, lone));
      if (in_place) {
        rig.outputs = rig.inputs;
        for (std::size_t i = 0; i < calls.size(); ++i) calls[i].input = calls[i].output = rig.outputs[i].data();
      }
      rig.run(calls);
      each_element(37, sizeof(float), size, nullptr, [&](std::size_t i, Rank owner) {
        for (const auto& output : rig.outputs) ASSERT_EQ(output[i], rig.inputs[static_cast<std::size_t>(owner)][i]);
      });
    }
  }
}

}  // namespace
}  // namespace lacuna::test
