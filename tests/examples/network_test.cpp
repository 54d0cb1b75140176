#include "examples/workloads/fashion_mnist/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/examples/small_integers.hpp"

namespace lacuna::workloads {
namespace {

const Pause no_pause = [] {};

double loss_of(Network& network, const std::vector<float>& inputs, const std::vector<std::uint8_t>& labels) {
  std::copy(inputs.begin(), inputs.end(), network.inputs().begin());
  network.forward(labels.size());
  return network.score(labels).loss / static_cast<double>(labels.size());
}

using Values = std::vector<double>;

/// Returns the values behind a layer whose product has `rows` rows, by the definition.
Values applied(const Layer& layer, const Values& operand) {
  Values result;
  for (std::size_t row = 0; row < operand.size() / layer.inputs; ++row) {
    for (std::size_t j = 0; j < layer.outputs; ++j) {
      double sum = static_cast<double>(layer.parameters[layer.weights() + j]);
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        sum += operand[row * layer.inputs + k] * static_cast<double>(layer.parameters[k * layer.outputs + j]);
      }
      result.push_back(sum);
    }
  }
  return result;
}

/// Returns a convolution, the greatest value of 2 x 2 places and a ReLU.
Values convolved(const Volume& in, const Layer& layer, const Values& values) {
  Values windows;
  for (std::size_t y = 0; y < in.height; ++y) {
    for (std::size_t x = 0; x < in.width; ++x) {
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        const std::size_t row = y + k / in.channels / 3, column = x + k / in.channels % 3;  // both are one too many
        const bool inside = row > 0 && row <= in.height && column > 0 && column <= in.width;
        windows.push_back(inside ? values[((row - 1) * in.width + column - 1) * in.channels + k % in.channels] : 0);
      }
    }
  }
  const Values sums = applied(layer, windows);
  Values result;
  for (std::size_t y = 0; y < in.height / 2; ++y) {
    for (std::size_t x = 0; x < in.width / 2; ++x) {
      for (std::size_t c = 0; c < layer.outputs; ++c) {
        const auto at = [&](std::size_t dy, std::size_t dx) {
          return sums[((2 * y + dy) * in.width + 2 * x + dx) * layer.outputs + c];
        };
        result.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1), 0.0}));
      }
    }
  }
  return result;
}

/// Returns the loss of the same network, computed in double precision by the definition.
double exact_loss(const NetworkShape& shape, const Network& network, const std::vector<float>& inputs,
                  const std::vector<std::uint8_t>& labels) {
  double total = 0;
  const std::size_t pixels = shape.image.values();
  for (std::size_t s = 0; s < labels.size(); ++s) {
    Values values(inputs.begin() + static_cast<std::ptrdiff_t>(s * pixels),
                  inputs.begin() + static_cast<std::ptrdiff_t>((s + 1) * pixels));
    Volume volume = shape.image;
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
      const Layer& layer = network.layers()[l];
      if (l < shape.filters.size()) {
        values = convolved(volume, layer, values);
        volume = {volume.height / 2, volume.width / 2, layer.outputs};
        continue;
      }
      values = applied(layer, values);
      if (l + 1 == network.layers().size()) break;
      for (double& value : values) value = std::max(value, 0.0);
    }
    double sum = 0;
    for (double value : values) sum += std::exp(value);
    total += std::log(sum) - values[labels[s]];
  }
  return total / static_cast<double>(labels.size());
}

const NetworkShape dense_only{.image = {1, 6, 1}, .filters = {}, .widths = {19, 11, 10}};
const NetworkShape many_filters{.image = {4, 4, 1}, .filters = {16, 96}, .widths = {10}};
const NetworkShape convolutional{.image = {9, 6, 1}, .filters = {3, 5}, .widths = {7, 10}};

struct Sample {
  NetworkShape shape;
  Network network;
  std::vector<float> inputs;
  std::vector<std::uint8_t> labels = {3, 0, 9, 9, 5};

  explicit Sample(const NetworkShape& of = dense_only) : shape(of), network(of, 8) {
    network.initialise(7);
    SplitMix random(3, 0);
    for (std::size_t i = 0; i < labels.size() * shape.image.values(); ++i) inputs.push_back(random.signed_unit());
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

  double exact() const { return exact_loss(shape, network, inputs, labels); }
};

/// Returns the sum of the products of two lists.
double product_of(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

TEST(Convolution, AddingWindowsIsTheTransposeOfGatheringThem) {
  for (const Volume& shape : {Volume{1, 1, 2}, Volume{1, 4, 1}, Volume{5, 3, 3}}) {
    const std::vector<float> values = small_integers(shape.values(), 1);
    const std::vector<float> windows = small_integers(window * shape.values(), 2);
    std::vector<float> gathered(windows.size(), 99.0F), added(values.size());
    gather_windows(shape, values.data(), gathered.data());
    add_windows(shape, windows.data(), added.data());
    EXPECT_EQ(product_of(gathered, windows), product_of(values, added)) << shape.height << " x " << shape.width;
  }
}

TEST(Convolution, MaximaGoBackToWhereTheyCameFrom) {
  const Volume shape{5, 4, 2};
  std::vector<float> values(shape.values());
  std::iota(values.begin(), values.end(), 0.0F);
  std::shuffle(values.begin(), values.end(), std::minstd_rand(3));
  std::vector<float> maxima(shape.halved().values()), back(values.size(), 99.0F);
  std::vector<std::uint8_t> which(maxima.size());
  take_maxima(shape, values.data(), maxima.data(), which.data());
  return_maxima(shape, maxima.data(), which.data(), back.data());
  std::size_t kept = 0;
  for (std::size_t y = 0; y < shape.height; ++y) {
    for (std::size_t x = 0; x < shape.width; ++x) {
      for (std::size_t c = 0; c < shape.channels; ++c) {
        const auto at = [&](std::size_t row, std::size_t column) {
          return values[(row * shape.width + column) * shape.channels + c];
        };
        const std::size_t top = y / 2 * 2, left = x / 2 * 2;
        const bool greatest =
            top + 1 < shape.height &&
            at(y, x) == std::max({at(top, left), at(top, left + 1), at(top + 1, left), at(top + 1, left + 1)});
        kept += greatest;
        EXPECT_EQ(back[(y * shape.width + x) * shape.channels + c], greatest ? at(y, x) : 0.0F) << y << ' ' << x;
      }
    }
  }
  EXPECT_EQ(kept, maxima.size());
}

TEST(Network, LossEqualsItsDefinition) {
  for (const NetworkShape& shape : {dense_only, convolutional, many_filters}) {
    Sample sample(shape);
    EXPECT_NEAR(loss_of(sample.network, sample.inputs, sample.labels), sample.exact(), 1e-5);
  }
}

TEST(Network, GradientEqualsTheFiniteDifferencesOfTheExactLoss) {
  for (const NetworkShape& shape : {dense_only, convolutional}) {
    Sample sample(shape);
    sample.backward();
    for (Layer& layer : sample.network.layers()) {
      const std::pmr::vector<float> gradient = layer.gradient;
      for (std::size_t i = 0; i < gradient.size(); i += 3) {
        const float kept = layer.parameters[i];
        constexpr float step = 1.0F / 1024;
        layer.parameters[i] = kept + step;
        const double above = sample.exact();
        layer.parameters[i] = kept - step;
        const double below = sample.exact();
        layer.parameters[i] = kept;
        ASSERT_NEAR(static_cast<double>(gradient[i]), (above - below) / (2.0 * static_cast<double>(step)), 2e-4)
            << "parameter " << i << " of the layer with " << layer.inputs << " inputs";
      }
    }
  }
}

TEST(Network, OfFewerSamplesHasTheGradientOfItsPassAlone) {
  for (const NetworkShape& shape : {dense_only, convolutional, many_filters}) {
    Sample fresh(shape), used(shape);
    used.backward();
    for (Sample* sample : {&fresh, &used}) {
      sample->labels.resize(2);
      sample->backward();
    }
    for (std::size_t l = 0; l < fresh.network.layers().size(); ++l) {
      EXPECT_EQ(fresh.network.layers()[l].gradient, used.network.layers()[l].gradient) << "layer " << l;
    }
  }
}

TEST(Network, WithMoreConvolutionsThanItsImagesCanBeHalvedIsRefused) {
  EXPECT_TRUE(check({.image = {4, 5, 1}, .filters = {2, 2}, .widths = {10}}));
  EXPECT_EQ(check({.image = {4, 3, 1}, .filters = {2, 2}, .widths = {10}}).code(), Code::InvalidArgument);
}

TEST(Network, ScoreCountsTheSamplesWhoseLabelHasTheHighestOutput) {
  Sample sample;
  Layer& last = sample.network.layers().back();
  std::fill(last.parameters.begin(), last.parameters.end(), 0.0F);
  last.parameters[last.weights() + 9] = 1;
  loss_of(sample.network, sample.inputs, sample.labels);
  EXPECT_EQ(sample.network.score(sample.labels).correct, 2U);
}

}  // namespace
}  // namespace lacuna::workloads
