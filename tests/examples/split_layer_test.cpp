#include "examples/workloads/parallel_mlp/split_layer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::size_t samples = 3;

/// Values of whole layers are stored by features: (feature, sample) lies at [feature * samples + sample].
using Values = std::vector<float>;

Values small_integers(std::size_t count, std::uint64_t stream) {
  Values values(count);
  SplitMix random(17, stream);
  for (float& value : values) value = static_cast<float>(random.below(9)) - 4;
  return values;
}

/// A layer that is not shared, on integers, so that any order of sums gives the same bits.
struct WholeLayer {
  LayerShape shape;
  Values weights = small_integers(shape.inputs * shape.outputs, 1);
  Values biases = small_integers(shape.outputs, 2);
  Values inputs = small_integers(shape.inputs * samples, 3);
  Values delta = small_integers(shape.outputs * samples, 4);

  Values outputs() const {
    Values values(shape.outputs * samples);
    for (std::size_t j = 0; j < shape.outputs; ++j) {
      for (std::size_t s = 0; s < samples; ++s) {
        float sum = biases[j];
        for (std::size_t k = 0; k < shape.inputs; ++k) {
          sum += inputs[k * samples + s] * weights[k * shape.outputs + j];
        }
        values[j * samples + s] = shape.last() ? sum : std::max(sum, 0.0F);
      }
    }
    return values;
  }
  float weight_gradient(std::size_t k, std::size_t j) const {
    float sum = 0;
    for (std::size_t s = 0; s < samples; ++s) sum += inputs[k * samples + s] * delta[j * samples + s];
    return sum;
  }
  float bias_gradient(std::size_t j) const {
    float sum = 0;
    for (std::size_t s = 0; s < samples; ++s) sum += delta[j * samples + s];
    return sum;
  }
  Values below() const {
    Values values(shape.inputs * samples);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (inputs[i] <= 0) continue;
      for (std::size_t j = 0; j < shape.outputs; ++j) {
        values[i] += weights[i / samples * shape.outputs + j] * delta[j * samples + i % samples];
      }
    }
    return values;
  }
};

/// Returns features [first, first + count).
Values slice(const Values& values, std::size_t first, std::size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first * samples);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * samples)};
}

/// Which share of a whole layer a rank has.
struct Place {
  std::size_t row = 0, column = 0, output = 0, outputs = 0;
};

class SplitLayers : public testing::TestWithParam<std::tuple<Rank, LayerShape>> {
 protected:
  static Place place_of(const LayerShape& shape, std::size_t rank, std::size_t ranks) {
    const std::size_t share = shape.outputs / ranks;
    const bool rows = shape.cut() == Cut::Rows;
    return {.row = rows ? rank * (shape.inputs / ranks) : 0,
            .column = rows ? 0 : rank * share,
            .output = shape.last() ? 0 : rank * share,
            .outputs = shape.last() ? shape.outputs : share};
  }

  /// Runs `check` on a thread for each rank.
  template <class Check>
  static void on_ranks(const Check& check) {
    const auto [ranks, shape] = GetParam();
    const WholeLayer whole{shape};
    auto group = test::local(ranks, Progress::Thread);
    test::on_each(group, [&, shape = shape](Communicator& rank) {
      const Place place = place_of(shape, static_cast<std::size_t>(rank.rank()), group.size());
      SplitLayer layer(shape, rank, samples);
      Layer& part = layer.part();
      for (std::size_t k = 0; k < part.inputs; ++k) {
        std::copy_n(whole.weights.data() + (place.row + k) * shape.outputs + place.column, part.outputs,
                    part.parameters.data() + k * part.outputs);
      }
      std::copy_n(whole.biases.data() + place.output, place.outputs, part.parameters.data() + part.weights());
      Values operand(layer.operand_features() * samples, -7777.0F);
      const std::span<float> own = layer.own_inputs(operand);
      const std::size_t first =
          layer.first_operand_feature() + static_cast<std::size_t>(own.data() - operand.data()) / samples;
      std::ranges::copy(slice(whole.inputs, first, own.size() / samples), own.begin());
      check(whole, place, layer, operand);
    });
  }
};

TEST_P(SplitLayers, GiveTheirPartOfTheWholeLayersOutputs) {
  on_ranks([](const WholeLayer& whole, const Place& place, SplitLayer& layer, Values& operand) {
    Values output(layer.output_features() * samples);
    EXPECT_EQ(layer.forward(operand, output).to_string(), "ok");
    EXPECT_EQ(output, slice(whole.outputs(), place.output, place.outputs));
  });
}

TEST_P(SplitLayers, AddTheirPartOfTheWholeLayersGradients) {
  on_ranks([](const WholeLayer& whole, const Place& place, SplitLayer& layer, Values& operand) {
    Layer& part = layer.part();
    Values output(layer.output_features() * samples);
    EXPECT_EQ(layer.forward(operand, output).to_string(), "ok");
    std::fill(part.gradient.begin(), part.gradient.end(), 100.0F);
    Values below(layer.shape().first() ? 0 : layer.own_inputs(operand).size());
    EXPECT_EQ(layer.backward(operand, slice(whole.delta, place.output, place.outputs), below).to_string(), "ok");
    for (std::size_t i = 0; i < part.weights(); ++i) {
      const std::size_t row = place.row + i / part.outputs, column = place.column + i % part.outputs;
      ASSERT_EQ(part.gradient[i], 100 + whole.weight_gradient(row, column)) << row << ' ' << column;
    }
    for (std::size_t j = 0; j < place.outputs; ++j) {
      ASSERT_EQ(part.gradient[part.weights() + j], 100 + whole.bias_gradient(place.output + j)) << j;
    }
  });
}

TEST_P(SplitLayers, GiveTheirPartOfTheGradientOfTheLayerBelow) {
  on_ranks([](const WholeLayer& whole, const Place& place, SplitLayer& layer, Values& operand) {
    if (layer.shape().first()) return;
    Values output(layer.output_features() * samples);
    EXPECT_EQ(layer.forward(operand, output).to_string(), "ok");
    Values below(layer.own_inputs(operand).size());
    EXPECT_EQ(layer.backward(operand, slice(whole.delta, place.output, place.outputs), below).to_string(), "ok");
    const std::size_t features = below.size() / samples;
    const std::size_t first = static_cast<std::size_t>(layer.own_inputs(operand).data() - operand.data()) / samples;
    EXPECT_EQ(below, slice(whole.below(), layer.first_operand_feature() + first, features));
  });
}

// Inputs and outputs are multiples of all numbers of ranks, except for the classes.
INSTANTIATE_TEST_SUITE_P(All, SplitLayers,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(LayerShape{0, 1, 12, 10}, LayerShape{0, 2, 7, 24},
                                                          LayerShape{1, 2, 24, 10}, LayerShape{1, 3, 12, 36},
                                                          LayerShape{0, 3, 12, 24}, LayerShape{1, 4, 24, 12})),
                         [](const auto& case_info) {
                           const LayerShape& shape = std::get<1>(case_info.param);
                           return std::to_string(std::get<0>(case_info.param)) + "RanksLayer" +
                                  std::to_string(shape.index) + "Of" + std::to_string(shape.layers);
                         });

TEST(CheckCuts, NamesTheWidthThatRanksCannotShare) {
  EXPECT_TRUE(check_cuts({21, 24, 10}, 4)) << "the first layer is cut by columns: pixels are not shared";
  test::expect_error(check_cuts({21, 24, 24, 10}, 4), Code::InvalidArgument, "21 pixels");
  test::expect_error(check_cuts({20, 24, 26, 10}, 4), Code::InvalidArgument, "26 hidden values");
}

}  // namespace
}  // namespace lacuna::workloads
