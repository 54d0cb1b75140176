#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "examples/workloads/fashion_mnist/idx.hpp"
#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"
#include "examples/workloads/fashion_mnist/network.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/bindings/idx_fixture.hpp"

namespace lacuna::workloads {
namespace {

const Pause no_pause = [] {};

std::vector<float> small_integers(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  SplitMix random(seed, 0);
  for (float& value : values) value = static_cast<float>(random.below(9)) - 4;
  return values;
}

class Product3 : public testing::TestWithParam<std::array<std::size_t, 3>> {};

TEST_P(Product3, EqualsTheSumOfProductsForPlainAndTransposedFactors) {
  const auto [rows, columns, depth] = GetParam();
  const std::vector<float> a = small_integers(rows * depth, 1);
  const std::vector<float> b = small_integers(depth * columns, 2);
  for (const bool transposed : {false, true}) {
    const Strided view = transposed ? Strided{a.data(), 1, rows} : Strided{a.data(), depth, 1};
    std::vector<float> c(rows * columns + 1, -7777.0F);
    multiply({view, b.data(), c.data(), rows, columns, depth}, 0, rows / 2);
    multiply({view, b.data(), c.data(), rows, columns, depth}, rows / 2, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < depth; ++k) {
          sum += view.data[i * view.row_stride + k * view.column_stride] * b[k * columns + j];
        }
        ASSERT_EQ(c[i * columns + j], sum) << i << ' ' << j << (transposed ? " transposed" : "");
      }
    }
    EXPECT_EQ(c.back(), -7777.0F) << "written past the end";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Product3,
                         testing::Values(std::array<std::size_t, 3>{1, 1, 1}, std::array<std::size_t, 3>{16, 10, 33},
                                         std::array<std::size_t, 3>{17, 47, 5}, std::array<std::size_t, 3>{8, 64, 7},
                                         std::array<std::size_t, 3>{9, 31, 16}, std::array<std::size_t, 3>{3, 8, 2}));

double loss_of(Network& network, const std::vector<float>& inputs, const std::vector<std::uint8_t>& labels) {
  std::copy(inputs.begin(), inputs.end(), network.inputs().begin());
  network.forward(labels.size());
  return network.score(labels).loss / static_cast<double>(labels.size());
}

/// The loss of the same network, computed in double precision by the definition.
double exact_loss(const Network& network, const std::vector<float>& inputs, const std::vector<std::uint8_t>& labels) {
  double total = 0;
  const std::size_t width = network.layers().front().inputs;
  for (std::size_t s = 0; s < labels.size(); ++s) {
    std::vector<double> values(inputs.begin() + static_cast<std::ptrdiff_t>(s * width),
                               inputs.begin() + static_cast<std::ptrdiff_t>((s + 1) * width));
    for (const Layer& layer : network.layers()) {
      std::vector<double> next(layer.outputs);
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        next[j] = static_cast<double>(layer.parameters[layer.weights() + j]);
        for (std::size_t k = 0; k < layer.inputs; ++k) {
          next[j] += values[k] * static_cast<double>(layer.parameters[k * layer.outputs + j]);
        }
        if (&layer != &network.layers().back()) next[j] = std::max(next[j], 0.0);
      }
      values = next;
    }
    double sum = 0;
    for (double value : values) sum += std::exp(value);
    total += std::log(sum) - values[labels[s]];
  }
  return total / static_cast<double>(labels.size());
}

struct Sample {
  Network network{{6, 19, 11, 10}, 8};
  std::vector<float> inputs;
  std::vector<std::uint8_t> labels = {3, 0, 9, 9, 5};

  Sample() {
    network.initialise(7);
    SplitMix random(3, 0);
    for (std::size_t i = 0; i < labels.size() * 6; ++i) inputs.push_back(random.signed_unit());
    for (Layer& layer : network.layers()) {
      for (std::size_t i = layer.weights(); i < layer.parameters.size(); ++i) {
        layer.parameters[i] = 0.3F * random.signed_unit();
      }
    }
  }

  void backward() {
    loss_of(network, inputs, labels);
    network.begin_backward(labels);
    for (std::size_t l = network.layers().size(); l-- > 0;) {
      network.parameter_gradient(l, no_pause);
      if (l > 0) network.input_gradient(l, no_pause);
    }
  }
};

TEST(Network, LossEqualsItsDefinition) {
  Sample sample;
  EXPECT_NEAR(loss_of(sample.network, sample.inputs, sample.labels),
              exact_loss(sample.network, sample.inputs, sample.labels), 1e-5);
}

TEST(Network, GradientEqualsTheFiniteDifferencesOfTheExactLoss) {
  Sample sample;
  sample.backward();
  for (Layer& layer : sample.network.layers()) {
    const std::vector<float> gradient = layer.gradient;
    for (std::size_t i = 0; i < gradient.size(); i += 3) {
      const float kept = layer.parameters[i];
      constexpr float step = 1.0F / 1024;
      layer.parameters[i] = kept + step;
      const double above = exact_loss(sample.network, sample.inputs, sample.labels);
      layer.parameters[i] = kept - step;
      const double below = exact_loss(sample.network, sample.inputs, sample.labels);
      layer.parameters[i] = kept;
      ASSERT_NEAR(static_cast<double>(gradient[i]), (above - below) / (2.0 * static_cast<double>(step)), 2e-4)
          << "parameter " << i << " of the layer with " << layer.inputs << " inputs";
    }
  }
}

TEST(Network, ScoreCountsTheSamplesWhoseLabelHasTheHighestOutput) {
  Sample sample;
  Layer& last = sample.network.layers().back();
  std::fill(last.parameters.begin(), last.parameters.end(), 0.0F);
  last.parameters[last.weights() + 9] = 1;
  loss_of(sample.network, sample.inputs, sample.labels);
  EXPECT_EQ(sample.network.score(sample.labels).correct, 2U);
}

TEST(Update, MovesAgainstTheGatheredMomentum) {
  Layer layer{.inputs = 1, .outputs = 1, .parameters = {1, 2}, .gradient = {4, -8}, .momentum = {2, 0}};
  update(layer, 0.5F, 0.25F);
  EXPECT_EQ(layer.momentum, (std::vector<float>{4.5F, -8}));
  EXPECT_EQ(layer.parameters, (std::vector<float>{1 - 2.25F, 2 + 4}));
}

TEST(Permutation, HoldsEveryNumberOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 60000U}) {
    std::vector<std::uint32_t> order = permutation(5, 1, count);
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(order, all);
  }
}

TEST(Permutation, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(permutation(5, 1, 100), permutation(5, 1, 100));
  EXPECT_NE(permutation(5, 1, 100), permutation(5, 2, 100));
  EXPECT_NE(permutation(5, 1, 100), permutation(6, 1, 100));
}

class IdxFile : public IdxFixture {
 protected:
  std::string error_of(const std::vector<std::uint8_t>& bytes) {
    const Result<IdxArray> array = read_idx(write("array.gz", bytes), 1);
    return std::string(array.status().message());
  }
};

TEST_F(IdxFile, YieldsShapeAndValues) {
  const Result<IdxArray> array = read_idx(write("a.gz", {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}), 2);
  ASSERT_TRUE(array) << array.status().to_string();
  EXPECT_EQ(array->shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(array->values, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(IdxFile, WithAnotherHeaderIsRefused) {
  EXPECT_NE(error_of({0, 0, 13, 1, 0, 0, 0, 1, 9}).find("begins with 00000d01, expected 00000801"), std::string::npos);
}

TEST_F(IdxFile, ThatEndsEarlyOrLateIsRefused) {
  EXPECT_NE(error_of({0, 0, 8, 1, 0, 0, 0, 3, 9}).find("2 bytes too early"), std::string::npos);
  EXPECT_NE(error_of({0, 0, 8, 1, 0, 0, 0, 1, 9, 9}).find("goes on after"), std::string::npos);
}

TEST_F(IdxFile, WithAnImpossibleSizeIsRefusedBeforeMemoryIsTaken) {
  EXPECT_NE(error_of({0, 0, 8, 1, 255, 255, 255, 255, 9}).find("impossible size"), std::string::npos);
}

TEST_F(IdxFile, WhoseCompressedBytesAreDamagedIsRefused) {
  std::vector<std::uint8_t> bytes = {0, 0, 8, 1, 0, 0, 4, 0};
  for (std::size_t i = 0; i < 1024; ++i) bytes.push_back(static_cast<std::uint8_t>(SplitMix(i, 0).next()));
  const std::filesystem::path path = write("array.gz", bytes);
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, 500, SEEK_SET);
  std::fputc(std::fgetc(file) ^ 1, file);
  std::fclose(file);
  EXPECT_EQ(read_idx(path, 1).status().code(), Code::Io);
}

TEST_F(IdxFile, OfLabelsMustFitTheImages) {
  write("train-images-idx3-ubyte.gz", {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 7, 8});
  write("train-labels-idx1-ubyte.gz", {0, 0, 8, 1, 0, 0, 0, 1, 3});
  EXPECT_NE(read_images(folder_, "train", 10).status().message().find("1 labels for 2 images"), std::string::npos);
  write("train-labels-idx1-ubyte.gz", {0, 0, 8, 1, 0, 0, 0, 2, 3, 10});
  EXPECT_NE(read_images(folder_, "train", 10).status().message().find("label 10"), std::string::npos);
}

TEST_F(IdxFile, ThatIsMissingNamesThePackageThatHasIt) {
  FashionMnistOptions options;
  options.folder = folder_;
  const Status loaded = make_fashion_mnist(options)->load();
  EXPECT_EQ(loaded.code(), Code::Io);
  EXPECT_NE(loaded.message().find("train-images-idx3-ubyte.gz"), std::string::npos);
  EXPECT_NE(loaded.message().find("apt install dataset-fashion-mnist"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::workloads
